-- SlidingWindow. The value is the policy, the start of the latest sub-window with a count, the sum
-- of the counts that the window covers whole, and the counts. The counts have size bytes each, the
-- latest first. There are buckets + 1 counts. The last is that of the sub-window that is leaving.
-- Counts missing at the end are zero.
--
-- n, how and after are as in the script of the fixed window. A count above most does not fit.
local format, width, buckets, limit, size, most, n, how, after = struct.unpack('>c3dddddddd', ARGV[2])

-- share returns count * covered / width, rounded down. If the product would not be exact, it
-- divides as on paper, digit by digit. With digits below base, (2 * base - 1) * width is exact.
local function share(count, covered)
	if count * covered <= 4503599627370496 then
		return math.floor(count * covered / width)
	end
	local base = math.floor((9007199254740992 / width + 1) / 2)
	local unit, sum, rest = 1, 0, 0
	while unit * base <= count do
		unit = unit * base
	end
	while unit >= 1 do
		local digit = math.floor(count / unit)
		count = count - digit * unit
		rest = rest * base + digit * covered
		sum = sum * base + math.floor(rest / width)
		rest, unit = rest % width, unit / base
	end
	return sum
end

local current = now - now % width
local start, whole, counts, done, changed = current, 0, '', 0, false
if value then
	start, whole = struct.unpack('>I7I7', value, #head + 1)
	counts = string.sub(value, #head + 15)
	local passed = (current - start) / width
	if start - now > skew then -- the counts stay, in the new clock's sub-windows
		start, changed = current, true
	elseif passed > buckets then
		start, whole, counts = current, 0, ''
	elseif passed > 0 and n >= 0 then -- giving back does not need this shift
		for i = buckets - passed, math.min(buckets, #counts / size) - 1 do
			whole = whole - struct.unpack(format, counts, i * size + 1)
		end
		start = current
		counts = string.sub(string.rep('\0', passed * size) .. counts, 1, (buckets + 1) * size)
	end
end

local before, left = counts, true -- left: whether any count is above zero
if n < 0 then
	done = 1
	local first = 0 -- events granted at or later than after stay
	if after > 0 then
		first = math.max(math.ceil((start + 1 - after) / width), 0)
	end
	for i = first, #counts / size - 1 do
		local old = struct.unpack(format, counts, i * size + 1)
		local back = math.min(old, -n)
		if back > 0 then
			n, changed = n + back, true
			counts = string.sub(counts, 1, i * size) ..
				struct.pack(format, old - back) .. string.sub(counts, (i + 1) * size + 1)
			if i < buckets then
				whole = whole - back
			end
		end
	end
	left = whole > 0 or string.find(counts, '[^%z]')
elseif n > 0 then
	local latest, room = 0, limit - whole
	if #counts > 0 then
		latest = struct.unpack(format, counts)
		if #counts > buckets * size then
			local leaving = struct.unpack(format, counts, buckets * size + 1)
			local covered = width
			if now > start then
				covered = width - now + start
			end
			room = room - share(leaving, covered)
		end
	end
	if how == 1 and n > room then
		n = room
	end
	if n > 0 and (how == 2 or n <= room) then
		if latest + n > most then
			return struct.pack('>BI7', 2, now) .. (value or '')
		end
		done, changed, whole = 1, true, whole + n
		counts = struct.pack(format, latest + n) .. string.sub(counts, size + 1)
	end
end

if changed and (left or start > now) then -- an instant before start counts as start
	local life = (start + (buckets + 1) * width - now) / 1000 + keep
	redis.call('SET', KEYS[1], struct.pack('>c0I7I7c0', head, start, whole, counts),
		'PX', string.format('%d', life))
elseif changed then
	redis.call('DEL', KEYS[1])
end
return struct.pack('>BI7I7I7', done, now, start, 0) .. before -- in the form of the value, without the sum
