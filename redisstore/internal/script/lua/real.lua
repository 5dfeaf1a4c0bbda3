-- The server's clock, read once, in whole microseconds. All instants and spans are in them; up to
-- 2^53, a Lua number holds each exactly. A state that is ahead of the clock by more than skew was
-- left by a server whose clock was; see the scripts for what is done with it.
local seconds = redis.call('TIME')
local now = seconds[1] * 1000000 + seconds[2]
local skew, keep = 100000, 1
-- Redis writes an argument that is a number with %.17g, which costs more than most of a script. To write
-- it with %d is cheap, but for a server of 32 bits it must be below this.
local long = 2147483648
