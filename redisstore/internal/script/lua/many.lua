-- The end of a script for many keys. decide is the script for one key. A failure of one key does
-- not affect the others. The reply is the length and the reply of each key, or a 3 if the key
-- failed. A key that failed was not counted, because a script counts with its last write.
local key, replies = {}, {}
for i = 1, #KEYS do
	key[1] = KEYS[i]
	local ok, reply = pcall(decide, key)
	if not ok then
		reply = '\3'
	end
	replies[2 * i - 1], replies[2 * i] = struct.pack('>I4', #reply), reply
end
return table.concat(replies)
