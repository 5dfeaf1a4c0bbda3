-- The end of a script for many keys. decide is the script for one; what fails for a key fails for no other.
-- The reply is that for each key, behind its length, or a 3 where it failed. Nothing was counted then: what
-- counts is the last that a script writes.
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
