package main

// The load is three times the limit. The time of each way is 12 windows, 4 for each phase.
const (
	nodes        = 8
	overload     = 3
	phaseWindows = 4
	allWindows   = phaseWindows * 3
)

// Phases of a way.
const (
	even   = iota // all nodes get as many requests
	moving        // one node after the other gets all of them
	deaths        // some nodes are killed; in the middle of the phase they are started again
)

var phases = [...]string{even: "even", moving: "moving", deaths: "deaths"}

// victims are the nodes that are killed.
var victims = []int{2, 4, 6}

// When they are killed and started again, in windows since the begin.
const (
	killAt  = deaths * phaseWindows
	startAt = killAt + phaseWindows/2
)

// loads returns how many requests a second each node gets. all is their sum, and windows is how
// many windows have passed. A load balancer sends requests to nodes that are ready, and to no
// others.
func loads(windows, all float64, ready []bool) []float64 {
	ofEach := make([]float64, len(ready))
	var alive []int
	for i, r := range ready {
		if r {
			alive = append(alive, i)
		}
	}
	switch {
	case len(alive) == 0:
	case int(windows)/phaseWindows == moving:
		turn := int((windows - moving*phaseWindows) / phaseWindows * float64(len(alive)))
		ofEach[alive[turn]] = all
	default:
		for _, i := range alive {
			ofEach[i] = all / float64(len(alive))
		}
	}
	return ofEach
}
