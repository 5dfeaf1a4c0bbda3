-- Returns the value and the time.
return struct.pack('>BI7', 2, now) .. (redis.call('GET', KEYS[1]) or '')
