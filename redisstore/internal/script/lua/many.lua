-- The end of a script for many keys. decide is the script for one; what fails for a key fails for no other.
-- The reply is that for each key, behind its length. One that begins with a 3 is an error.
local key, replies = {}, {}
for i = 1, #KEYS do
	key[1] = KEYS[i]
	local ok, reply = pcall(decide, key)
	if not ok then
		reply = '\3' .. (type(reply) == 'table' and reply.err or reply) -- Redis 7 raises tables
	end
	replies[2 * i - 1], replies[2 * i] = struct.pack('>I4', #reply), reply
end
return table.concat(replies)
