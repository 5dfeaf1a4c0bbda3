-- TokenBucket and LeakyBucket. The value is the policy, the instant of the latest step (seen), and
-- the debt then. The debt is counted in units. den units are paid a microsecond, and an event costs
-- a whole number of units.
--
-- A step with a cost is made if at most room is owed before it. If each is above zero, the step
-- costs a multiple of each: as much, up to cost, as fits in room.
--
-- A cost below zero gives back events of a grant. At the instant at, ends units were owed with the
-- grant, and free units without the waiters that stay behind the events. What has been paid of free
-- since is not given back. If at is zero, the grant is not known. If more than room is owed, a grant
-- lies ahead. Nothing is then given back, unless this grant was the last: the debt ends when its own
-- does.
local den, cost, room, each = struct.unpack('>dddd', ARGV[2])

local owed, done, write = 0, 0, false
if value then
	local seen, left = struct.unpack('>I7I7', value, #head + 1)
	if left > 9007199254740991 then
		return struct.pack('>BI7', 2, now) .. value -- no debt
	end
	if seen - now > skew then -- the debt stays the same, and is paid by the new clock
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
if cost < 0 then
	done = 1
	local at, ends, free = struct.unpack('>ddd', ARGV[2], 33)
	local most, last = owed, false
	if at > 0 then
		local passed = (now - at) * den
		most, last = free - passed, owed == ends - passed
	end
	if last or owed <= room then
		owed = owed - math.max(math.min(-cost, most, owed), 0)
	end
elseif each > 0 then
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
return struct.pack('>BI7I7I7', done, now, now, before) -- in the form of the value, from now on
