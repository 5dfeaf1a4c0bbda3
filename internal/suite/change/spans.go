package change

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

type (
	weirPolicy = weir.Policy
	weirQueue  = weir.LeakyBucket
)

// A use is the events that a class of policies granted in a span.
type use struct {
	first, last int64
	n           int // of the last grant
	any, booked bool
}

// spans compares every span that holds the latest grant with what the policies allow.
func (l *ledger) spans() string {
	if l.lost { // it may have been what others were granted since
		return ""
	}
	at := l.latest.at
	for j := len(l.deeds) - 1; j >= 0 && l.deeds[j].at >= at; j-- {
		if j+1 < len(l.deeds) && l.deeds[j+1].at == l.deeds[j].at {
			continue // a span ends after all deeds at its last instant
		}
		clear(l.uses)
		sum := 0
		for i := j; i >= 0; i-- {
			d := l.deeds[i]
			sum += d.n
			if d.n > 0 {
				l.uses[l.class[d.by]].add(d)
			}
			if d.at > at || i > 0 && l.deeds[i-1].at == d.at || sum <= 0 {
				continue
			}
			if most := l.allowed(l.uses, sum); sum > most {
				return fmt.Sprintf("%d went ahead, less what was given back, from %s to %s (%v), and %d are allowed",
					sum, instant(d.at), instant(l.deeds[j].at), time.Duration(l.deeds[j].at-d.at), most)
			}
		}
	}
	return ""
}

// add adds a deed that is earlier than those added before.
func (u *use) add(d *deed) {
	if !u.any {
		u.any, u.last = true, d.at
	}
	if u.last == d.at {
		u.n = max(u.n, d.n)
	}
	u.first, u.booked = d.at, u.booked || d.booked
}

// allowed returns the most that the uses may be granted, or as much of it as sum needs.
func (l *ledger) allowed(uses []use, sum int) int {
	most := 0
	for c := range uses {
		if u := &uses[c]; u.any && most < sum {
			slack := int64(0) // the clock tells whole grains alone
			if u.booked {
				slack = 2 * l.grain // one for rounding, one for the Unix epoch
			}
			most += l.joined[c].most(u.first, u.last, u.n, slack)
		}
	}
	return most
}

func instant(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05.999999999") }
