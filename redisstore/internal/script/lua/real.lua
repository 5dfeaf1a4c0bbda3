-- The server's clock, read once, in whole microseconds. All instants and spans are in microseconds.
-- A Lua number holds each exactly, up to 2^53. If a state is ahead of the clock by more than skew,
-- a server with another clock left it. Each script has its own rule for that case.
local seconds = redis.call('TIME')
local now = seconds[1] * 1000000 + seconds[2]
local skew, keep = 100000, 1 -- keep: a key expires this many milliseconds after its state
-- Scripts write a time to live with %d. Redis would write a number argument with %.17g, which costs
-- more than most of a script.
