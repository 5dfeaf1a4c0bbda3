package kit

import "testing"

// AllocsPerRun returns how often f itself allocates, on average. The runtime, and goroutines that
// end, may also allocate while f runs. Therefore the least of some tries counts.
func AllocsPerRun(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for tries := 1; least > 0 && tries < 10; tries++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
