package kit

import "testing"

// AllocsPerRun is how often f allocates, on average, by itself: the runtime and goroutines that end
// allocate now and then while it runs, so the least of some tries counts.
func AllocsPerRun(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for tries := 1; least > 0 && tries < 10; tries++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
