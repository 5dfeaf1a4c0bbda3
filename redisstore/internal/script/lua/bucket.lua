-- TokenBucket and LeakyBucket. The value is the policy, the instant of the latest step (seen), and
-- what was owed then. What is owed is counted in units, den of them a microsecond, of which the cost
-- of an event is a whole number.
--
-- A step that costs something is made if no more than room is owed before it; if each is above zero,
-- then for as many times each, up to cost, as fit in room.
local den, cost, room, each = struct.unpack('>dddd', ARGV[2])

local owed, done, write = 0, 0, false
if value then
	local seen, left = struct.unpack('>I7I7', value, #head + 1)
	if seen - now > skew then -- what is owed is kept, and paid by the new clock
		seen, write = now, true
	end
	owed = left - (now - seen) * den
	if owed < 0 then
		owed = 0
	elseif owed > 9007199254740991 then
		owed = 9007199254740991
	end
end

local before = owed
if each > 0 then
	cost = math.min(cost, math.floor((room - owed) / each) * each)
	if cost > 0 then
		owed, done = owed + cost, 1
	end
elseif owed <= room then
	owed, done = owed + cost, 1
end

if owed == 0 then
	if before > 0 then
		redis.call('DEL', KEYS[1])
	end
elseif write or owed ~= before then
	local life = owed / den / 1000 + keep
	redis.call('SET', KEYS[1], struct.pack('>c0I7I7', head, now, owed),
		'PX', string.format('%d', life))
end
return struct.pack('>BI7I7I7', done, now, now, before) -- as in the value, from now on
