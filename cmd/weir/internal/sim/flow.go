package sim

import (
	"math/rand/v2"
	"slices"
)

// request is one request in the unit of the integral of Rates: thousandths of a request a second,
// times nanoseconds. All arithmetic is on integers, so that every machine gives the same instants.
const request = 1000 * 1_000_000_000

// flow returns the instants of the requests that come at the Rates.
//
// Think of the area under the curve of the rates. An even flow has a request at the start of each
// whole unit of area. A random flow has as many requests, each anywhere in the area. That is a
// Poisson process of which the total is known.
func (s *Scenario) flow() []int64 {
	var total int64
	for i, r := range s.Rates {
		total += r * (s.edge(i+1) - s.edge(i))
	}
	places := make([]int64, 0, ceilDiv(uint64(total), request))
	rnd := rand.New(rand.NewPCG(1, 2)) // the same requests each time
	for at := int64(0); at < total; at += request {
		if s.Poisson {
			places = append(places, rnd.Int64N(total))
		} else {
			places = append(places, at)
		}
	}
	slices.Sort(places) // int64, as elsewhere: a sort of another type is 4 kB of the page

	instants := make([]int64, len(places))
	part, before := 0, int64(0) // the area before this part
	for i, place := range places {
		for {
			area := s.Rates[part] * (s.edge(part+1) - s.edge(part))
			if place < before+area {
				break
			}
			part, before = part+1, before+area
		}
		instants[i] = s.edge(part) + int64(ceilDiv(uint64(place-before), uint64(s.Rates[part])))
	}
	return instants
}

func ceilDiv(a, b uint64) uint64 { return (a + b - 1) / b }
