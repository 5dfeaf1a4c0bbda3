package weir

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"time"
)

// DenyCacheOptions are how a [DenyCache] behaves. The zero value of every field is a good default.
type DenyCacheOptions struct {
	// MaxKeys is how many denials are remembered at most, one for each key of a limiter: up to
	// 10,000,000; 0 means 10,000. Each takes some 130 bytes, of which 3 are taken at once. If more
	// keys are denied, the store is asked again for some of them.
	MaxKeys int

	// MaxAge is how long a denial is remembered at most; 0 means until its RetryAfter. It bounds
	// how long a reset or a give-back by another process goes unnoticed. With one second, a key
	// that is denied costs the store one call a second from each process, or as many as come at
	// the instant at which the denial is forgotten.
	MaxAge time.Duration

	// Exact makes it answer only what the store would answer, to the last field. Then asks for
	// several events often go to the store; those for one are remembered as without it.
	Exact bool
}

// DenyCache returns a store that remembers what s has denied, and denies it again by itself until
// the RetryAfter is over. So whoever hammers a key that is used up costs the store nothing, and
// gets an answer as fast as from a [MemStore].
//
// It never grants: only s does. A denial holds for asks of the same limiter, under the same policy,
// for as many events or more. It ends with the RetryAfter that s told, counted from before s was
// asked, and so not after s would grant; and at once when events of the key are granted, given back
// or reset through this DenyCache. It is not remembered if it is [Result.Degraded] or will never
// end. Looks, the first ask of a [Keyed.Wait], and asks for the parts of a composed policy always
// go to s.
//
// What it trades: it does not see what other processes do. If one of them gives back events of a
// key, or resets it, this one goes on denying: until the RetryAfter that it told, or for MaxAge.
// Never is more granted than without it. And of what it answers itself,
//
//   - RetryAfter is exact for as many events as were denied, but for the time that s took to
//     answer, which is added. For more events it is that of the fewer, and so may be too short;
//     who comes back then is told the rest by s.
//   - Remaining is exact for a single event, namely 0. For several it is what it was when s
//     answered, and may have grown since.
//
// Where this matters set Exact. Put a DenyCache in front of a [Fallback], not behind it: so an
// outage leaves it what it knows.
//
// A store that is nil, and an option that is out of its range, is an error of [New] and of each Do. The store is safe for concurrent use.
func DenyCache(s Store, opts DenyCacheOptions) Store {
	c := &denyCache{
		store:  s,
		maxAge: opts.MaxAge,
		exact:  opts.Exact,
		seedA:  maphash.MakeSeed(),
		seedB:  maphash.MakeSeed(),
	}
	if c.maxAge == 0 {
		c.maxAge = Never
	}
	maxKeys := opts.MaxKeys
	if maxKeys == 0 {
		maxKeys = 10_000
	}
	if fault := errors.Join(
		checkStore("DenyCache", "store", s),
		checkMaxDenials(maxKeys),
		checkOption("DenyCacheOptions.MaxAge", c.maxAge),
	); fault != nil {
		return misused{fault}
	}
	c.ways = min(maxKeys, denyWays)
	c.sets = make([]denySet, maxKeys/c.ways)
	return c
}

// maxDenials bounds what a DenyCache allocates when it is made.
const maxDenials = 10_000_000

func checkMaxDenials(maxKeys int) error {
	if maxKeys < 0 || maxKeys > maxDenials {
		return fmt.Errorf("weir: DenyCacheOptions.MaxKeys is %d, must be from 0 to %d", maxKeys, maxDenials)
	}
	return nil
}

type denyCache struct {
	store        Store
	maxAge       time.Duration
	exact        bool
	seedA, seedB maphash.Seed
	ways         int // denials in a set
	sets         []denySet
}

// Accept implements [Acceptor].
func (c *denyCache) Accept(l *Keyed) error { return Accept(c.store, l) }

// Do implements [Store].
func (c *denyCache) Do(ctx context.Context, r Request) (Answer, error) {
	id := denialID{maphash.String(c.seedA, r.Key) | 1, maphash.String(c.seedB, r.Key)}
	i, _ := bits.Mul64(id.a, uint64(len(c.sets)))
	s := &c.sets[i]

	n := r.N // of the ask for all or none that is denied in the same way; 0 if there is none such
	switch {
	case r.Forget || r.How == Regardless || r.MaxWait > 0 || r.Parts != nil:
		n = 0
	case r.How == UpTo:
		n = min(n, 1)
	}
	if n > 0 {
		if d := s.find(id, r.Scope); d != nil && d.covers(n, c.exact) {
			if now := r.Scope.Now(); now < d.until {
				r.tell(now)
				return d.answer(n, now), nil
			}
		}
	}

	seen, before := s.changes.Load(), r.Scope.Now()
	a, err := c.store.Do(ctx, r)
	changed := r.Forget || r.N < 0 || r.N > 0 && err == nil && a.Allowed
	var d *denial
	if !changed && n > 0 && err == nil && !a.Degraded && a.RetryAfter != Never {
		d = &denial{
			scope: r.Scope, n: n, result: a.Result,
			at:    r.Scope.Now(),
			until: saturatingAdd(before, min(a.RetryAfter, c.maxAge)),
		}
	}
	s.note(id, r.Scope, changed, d, seen, c.ways)
	return a, err
}
