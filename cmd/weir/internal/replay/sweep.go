package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weir-go/weir"
)

// A Fit is the smallest limit that hits less than a share of the clients.
type Fit struct {
	Share  float64 `json:"share"`
	Policy string  `json:"policy"` // "" if no limit hits so few
	Limit  int     `json:"limit"`  // the first number of Policy
	Hit    int     `json:"hit"`    // clients
}

// maxLimit is the largest limit that is tried. A cost may be a number of bytes.
const maxLimit = math.MaxInt / 2

// candidates is about how many policies a pass over the logs asks. The first asks a few more.
const candidates = 15

// Sweep finds for each share the smallest limit of a policy, as [Scaled] makes it, that hits fewer
// clients than this share of all. It is exact for these logs, because each lower limit hits as many
// clients or more. [weir.Tiers] and [weir.SingleRateMarker] are exceptions: with a larger first
// part, a request may take what a later one needs. The limit that Sweep then finds hits fewer than
// the share, and at most as many as its Fit says, but a lower one may do so, too. Sweep reads the
// logs several times, often four times.
//
// If ctx ends, Sweep returns its error.
func Sweep(ctx context.Context, c Config, p weir.Policy, shares []float64, logs []Log) ([]Fit, error) {
	s := &sweep{hits: map[int]int{}}
	limits := []int{maxLimit}
	for n := 1; n <= maxLimit/64; {
		limits = append(limits, n)
		if n < 1<<26 {
			n *= 4
		} else {
			n *= 64
		}
	}
	slices.Sort(limits)
	for len(limits) > 0 {
		if err := s.pass(ctx, c, p, limits, logs); err != nil {
			return nil, err
		}
		limits = s.between(shares)
	}
	var fits []Fit
	for _, share := range shares {
		fit := Fit{Share: share}
		if _, limit := s.bounds(share); limit <= maxLimit {
			scaled, err := Scaled(p, limit)
			if err != nil {
				return nil, err
			}
			fit.Policy, fit.Limit, fit.Hit = weir.AnyPolicy{Policy: scaled}.String(), limit, s.hits[limit]
		}
		fits = append(fits, fit)
	}
	return fits, nil
}

type sweep struct {
	hits     map[int]int // clients that a limit hits, for those that were tried
	clients  int
	requests int // of the last pass
}

// bounds returns the largest limit that was tried and hits too many clients, and the smallest that
// does not. They are 0 and above maxLimit if there is none.
func (s *sweep) bounds(share float64) (tooLow, enough int) {
	tooLow, enough = 0, maxLimit+1
	for limit, hits := range s.hits {
		if float64(hits)/float64(s.clients) < share { // a product may round up
			enough = min(enough, limit)
		} else {
			tooLow = max(tooLow, limit)
		}
	}
	return tooLow, enough
}

// between returns limits to try next, which divide the gaps that are left for the shares.
func (s *sweep) between(shares []float64) []int {
	var gaps [][2]int
	for _, share := range shares {
		if low, high := s.bounds(share); high-low > 1 && !slices.Contains(gaps, [2]int{low, high}) {
			gaps = append(gaps, [2]int{low, high})
		}
	}
	var limits []int
	for _, gap := range gaps {
		parts := max(candidates/len(gaps), 1) + 1
		for i := 1; i < parts; i++ {
			limit := gap[0] + int(float64(gap[1]-gap[0])*float64(i)/float64(parts))
			limits = append(limits, max(limit, gap[0]+1))
		}
	}
	slices.Sort(limits)
	limits = slices.Compact(limits)
	return limits[:min(len(limits), math.MaxUint8)] // pass counts so far
}

// pass reads the logs once, and counts the clients that each of the limits hits. A client that a
// limit has hit need not be asked about any more, and is hit by each lower limit, too.
func (s *sweep) pass(ctx context.Context, c Config, p weir.Policy, limits []int, logs []Log) error {
	clock := &logClock{}
	limiters := make([]*weir.KeyedLimiter, len(limits))
	for i, limit := range limits {
		scaled, err := Scaled(p, limit)
		if err != nil {
			return err
		}
		if limiters[i], err = weir.New(scaled, weir.WithClock(clock)); err != nil {
			return err
		}
	}
	r, err := newRun(ctx, c, logs)
	if err != nil {
		return err
	}
	defer r.close()

	var hit []uint8 // for each client, how many of the limits hit it, which are the lowest
	err = r.each(func(e event, now int64) error {
		clock.set(now)
		for int(e.client) >= len(hit) {
			hit = append(hit, 0)
		}
		key := r.clients.keys[e.client]
		for i := len(limiters) - 1; i >= int(hit[e.client]); i-- {
			result, err := limiters[i].Take(context.Background(), key, e.cost)
			if err != nil {
				return err
			}
			if !result.Allowed {
				hit[e.client] = uint8(i + 1)
				break
			}
		}
		return nil
	})
	if err := errors.Join(err, ctx.Err(), r.fault()); err != nil {
		return err
	}
	if n := r.report.Requests; n < max(s.requests, 1) {
		return fmt.Errorf("the sweep cannot go on: the logs had %d requests, and when they were read again %d", s.requests, n)
	}
	s.requests = r.report.Requests
	s.clients = len(r.clients.keys)
	for i, limit := range limits {
		s.hits[limit] = 0
		for _, n := range hit {
			if int(n) > i {
				s.hits[limit]++
			}
		}
	}
	return nil
}
