-- Replaces the value ARGV[1] by ARGV[2], with a time to live of ARGV[3] milliseconds, or 0 for no
-- expiry. An empty value means no value. If the key has another value, returns that and the time.
local value = redis.call('GET', KEYS[1]) or ''
if value ~= ARGV[1] then
	return struct.pack('>BI7', 2, now) .. value
end
if ARGV[2] == '' then
	redis.call('DEL', KEYS[1])
elseif ARGV[3] == '0' then
	redis.call('SET', KEYS[1], ARGV[2])
else
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3] + keep)
end
return struct.pack('>BI7', 1, now)
