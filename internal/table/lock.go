package table

import "sync"

// longestPause is the number of rounds of an empty loop, 1.5 µs, in the last pause between two
// tries of a lock. The first pause takes 32 rounds, and each twice as many as the one before. A
// caller that then still has no lock parks, because the holder does not run.
//
// The locks here are held for 50 to 200 ns, mostly. A goroutine that parks waits until the
// scheduler comes round to it, and the others queue behind it. With [sync.Mutex.Lock], 64
// goroutines that ask a SlidingLog for 100,000 keys had a 99th percentile over 30 times as long.
// Tries without a pause pull the data away from the holder's processor: a hot key took 1.2 times as
// long.
const longestPause = 1 << 12

// lock is mu.Lock for a lock that is held for a short time.
func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockBusy(mu)
	}
}

func lockBusy(mu *sync.Mutex) {
	for pause := 32; pause <= longestPause; pause *= 2 {
		if mu.TryLock() {
			return
		}
		for range pause {
		}
	}
	mu.Lock()
}
