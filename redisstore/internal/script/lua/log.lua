-- SlidingLog. The value is the policy, a header, and slots of size bytes, one for each granted
-- event. A slot holds the event's instant by the log's own clock, modulo the range of a slot. That
-- clock is the server's less base. The range is more than twice the window, so the age of every
-- slot in the window is known.
--
-- The header is base, the latest instant, the first slot, the number of slots in use, and the
-- number of slots. The slots are a ring. A short log is no ring: it is read and written whole, and
-- all its slots are in use. In a long log, a step reads and writes only the slots that it needs. It
-- searches in growing steps for the number of events that have left the window.
--
-- n, how and after are as in the script of the fixed window.
local head = ARGV[1]
local format, per, limit, size, modulus, n, how, after = struct.unpack('>c3ddddddd', ARGV[2])
local key, short = KEYS[1], 512

local slots = #head + 23 -- the start of the slots in the value
local base, latest, first, count, all = now, 0, 0, 0, 0
local value = redis.call('GETRANGE', key, 0, short - 1)
local clock, done, write = 0, 0, false -- clock: now by the log's clock, never before latest

local function slot(i)
	local p = slots + (first + i) % all * size
	if p + size <= #value then
		return (struct.unpack(format, value, p + 1))
	end
	return (struct.unpack(format, redis.call('GETRANGE', key, p, p + size - 1)))
end
local function instant(i)
	return clock - (clock - slot(i)) % modulus
end

-- search returns the first of the slots from low to high - 1 whose instant is at least t, or high.
-- It looks near low first.
local function search(low, high, t)
	local step = 1
	while low < high do
		local i = low + step - 1
		if instant(i) < t then
			low, step = i + 1, step * 2
		else
			high, step = i, high
		end
		step = math.min(step, math.ceil((high - low) / 2)) -- at most half of the rest
	end
	return low
end

-- range returns the bytes of the slots from low to high - 1.
local function range(low, high)
	if low >= high then
		return ''
	end
	local from, to = (first + low) % all, (first + high - 1) % all
	local function bytes(a, b)
		local p, q = slots + a * size, slots + (b + 1) * size
		if q <= #value then
			return string.sub(value, p + 1, q)
		end
		return redis.call('GETRANGE', key, p, q - 1)
	end
	if from <= to then
		return bytes(from, to)
	end
	return bytes(from, all - 1) .. bytes(0, to)
end

local function header()
	return head .. struct.pack('>I7I7I3I3I3', base, latest, first, count, all)
end
local function life()
	return string.format('%d', (base + latest + per - now) / 1000 + keep)
end

-- rewrite replaces the slots in use by bytes, and puts them first.
local function rewrite(bytes)
	count, first = #bytes / size, 0
	all = count
	if slots + #bytes > short then
		all = math.max(count, math.min(limit, 2 * count))
	end
	redis.call('SET', key, header() .. bytes .. string.rep('\0', (all - count) * size), 'PX', life())
end

if value ~= '' then
	if string.sub(value, 1, #head) ~= head then
		return struct.pack('>BI7', 2, now) .. redis.call('GET', key)
	end
	base, latest, first, count, all = struct.unpack('>I7I7I3I3I3', value, #head + 1)
	if count > math.min(all, limit) or first >= all then
		return struct.pack('>BI7', 2, now) .. redis.call('GET', key) -- not a log
	end
	if base + latest - now > skew then -- the events keep their distances from each other and from now
		base, write = now - latest, true
	end
	clock = math.max(now - base, latest)
	if clock - latest >= per then
		base, latest, first, count, all, clock = now, 0, 0, 0, 0, 0
	else
		local gone = search(0, count, clock - per + 1)
		if gone > 0 then
			first, count, write = (first + gone) % all, count - gone, write or n < 0
		end
	end
end

local before, newest = count, base + latest
local leaving, oldest = newest, nil
if n < 0 then
	done = 1
	local high = count -- events granted at or later than after stay
	if after ~= 0 then
		high = search(0, count, after - base)
	end
	local low = math.max(high + n, 0)
	if low < high then
		if high < count then
			rewrite(range(0, low) .. range(high, count))
			write = false
		elseif low == 0 then
			count = 0
			redis.call('DEL', key)
		else
			latest = instant(low - 1)
			count, write = low, true
		end
	end
	before, newest = count, base + latest
else
	if how == 1 then
		n = math.min(n, limit - count)
	end
	if count > 0 and n <= limit then -- more remain when the oldest event has left
		leaving = base + instant(0)
	end
	if n > 0 and count + n <= limit then
		done, latest = 1, clock
		local bytes = string.rep(struct.pack(format, clock % modulus), n)
		local total = count + n
		if slots + total * size <= short or total > all or total * 4 < all then
			rewrite(range(0, count) .. bytes)
			write = false
		else
			local from = (first + count) % all
			local fits = math.min(n, all - from) * size
			redis.call('SETRANGE', key, slots + from * size, string.sub(bytes, 1, fits))
			if fits < #bytes then
				redis.call('SETRANGE', key, slots, string.sub(bytes, fits + 1))
			end
			count, write = total, true
		end
	elseif n > 0 and how == 2 then
		return struct.pack('>BI7', 2, now) .. (redis.call('GET', key) or '')
	elseif n > 0 and how == 0 and n <= limit then
		oldest, leaving = leaving, base + instant(count + n - limit - 1)
	end
end

if write and count > 0 then
	if slots + count * size <= short then
		rewrite(range(0, count))
	else
		redis.call('PEXPIRE', key, life())
		redis.call('SETRANGE', key, 0, header())
	end
end
return struct.pack('>BI7I7I7I7I7', done, now, before, newest, leaving, oldest or leaving)
