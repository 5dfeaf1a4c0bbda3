package weir

// Usage is how many events are used up of how many, as a debt and a change of policy count them.
func Usage(d Decider, state []uint64, now int64) (used, limit uint64) { return usageAt(d, state, now) }
