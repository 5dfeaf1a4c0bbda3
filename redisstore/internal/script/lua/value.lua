-- The beginning of the scripts that read a value whole, which must be one that they have written for this policy.
local head, value = ARGV[1], redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #head) ~= head then
	return struct.pack('>BI7', 2, now) .. value
end

