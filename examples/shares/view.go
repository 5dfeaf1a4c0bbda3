package main

import "github.com/weir-go/weir/fleet"

// A session is that of a process, as etcd has it.
type session struct {
	joined int64 // the revision that created it
	counts int64 // the process counts all sessions that joined until then
}

// membership is the place of the process whose session has the key, in the order in which all
// joined. It has none until all that joined before it count it. Those that joined later have found
// its session, and count it.
func membership(all map[string]session, key string) fleet.Membership {
	own, m := all[key], fleet.Membership{Members: len(all)}
	for _, other := range all {
		if other.joined >= own.joined {
			continue
		}
		if other.counts < own.joined {
			return fleet.Membership{}
		}
		m.Index++
	}
	return m
}

// latest is when the latest session joined.
func latest(all map[string]session) (joined int64) {
	for _, s := range all {
		joined = max(joined, s.joined)
	}
	return joined
}
