-- The server's clock, read once, in whole microseconds. All instants and spans are in them; up to
-- 2^53, a Lua number holds each exactly. A state that is ahead of the clock by more than skew was
-- left by a server whose clock was; see the scripts for what is done with it.
local seconds = redis.call('TIME')
local now = seconds[1] * 1000000 + seconds[2]
local skew, keep = 100000, 1 -- keep: milliseconds by which a key outlives its state
-- Scripts write a time to live with %d: Redis writes an argument that is a number with %.17g, which
-- costs more than most of a script.
