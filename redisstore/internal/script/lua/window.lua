-- FixedWindow. The value is the policy, the start of the window, and its count. Windows of per
-- microseconds are aligned, or start with the first event.
--
-- n events are counted if they fit. With how = 1, as many are counted as fit. With how = 2, all are
-- counted in any case. A negative n gives back events that were granted before the instant after,
-- or at any time if after is zero. Events before the window's start no longer count. A count above
-- most does not fit.
local per, limit, most, aligned, n, how, after = struct.unpack('>ddddddd', ARGV[2])

local current = now
if aligned == 1 then
	current = now - now % per
end
local start, count, done, write = current, 0, 0, false
if value then
	start, count = struct.unpack('>I7I6', value, #head + 1)
	if start - now > skew then -- the count stays, in the new clock's window
		start, write = current, true
	elseif now - start >= per then
		start, count = current, 0
	end
end

local before = count
if n < 0 then
	done = 1
	if after == 0 or after > start then
		count = math.max(count + n, 0)
	end
elseif n > 0 then
	if how == 1 then
		n = math.min(n, limit - count)
	end
	if how == 2 and count + n > most then
		return struct.pack('>BI7', 2, now) .. (value or '')
	end
	if n > 0 and (how == 2 or count + n <= limit) then
		count, done = count + n, 1
	end
end

if count == 0 then
	if before > 0 then
		redis.call('DEL', KEYS[1])
	end
elseif write or count ~= before then
	local life = (start + per - now) / 1000 + keep
	redis.call('SET', KEYS[1], struct.pack('>c0I7I6', head, start, count),
		'PX', string.format('%d', life))
end
return struct.pack('>BI7I7I6', done, now, start, before)
