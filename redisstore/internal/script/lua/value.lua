-- The beginning of the scripts that read a whole value. If the value is not of this policy, they
-- return it with the time.
local head, value = ARGV[1], redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #head) ~= head then
	return struct.pack('>BI7', 2, now) .. value
end

