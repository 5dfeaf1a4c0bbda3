package fleet

import (
	"context"
	"errors"
	"hash/maphash"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

// DenyCacheOptions determine how a [DenyCache] behaves. The zero value of every field is a good
// default.
type DenyCacheOptions struct {
	// MaxKeys is the largest number of denials that are kept, one for each key of a limiter. It is
	// at most 10,000,000; 0 means 10,000. A denial takes about 130 bytes, of which 3 are allocated
	// in advance. Set it to twice the number of keys that are denied at a time, or more. Otherwise,
	// requests for some of these keys often go to the store again.
	MaxKeys int

	// MaxAge is the longest time, by the limiter's clock, for which a denial is kept; 0 means until
	// its RetryAfter is over. Resets and give-backs by other processes go unnoticed while the
	// denial is kept. Set MaxAge if you also use a [Lease], because other processes then often give
	// events of windows back. With a MaxAge of one second, each process that gets requests for a
	// denied key usually makes about one call a second for it. When a denial expires, several calls
	// may go to the store at the same time.
	MaxAge time.Duration

	// If Exact is set, the cache repeats a denial only if it knows the whole Result that the store
	// would return. Times may still be longer, by about the time that the store took to answer. The
	// cache does not know of later calls by other processes. Requests for a single event, and
	// requests of TakeUpTo, go to the store about as often as without Exact. Other requests go
	// there more often.
	//
	// After a change of policy, while events of several policies count, DecidedBy may still differ
	// from the store's.
	Exact bool
}

// DenyCache returns a store that keeps denials of s, and repeats them for later requests without
// asking s. A client that keeps calling with a used-up key then causes few calls to s. It gets a
// repeated denial about as fast as from a [weir.MemStore].
//
// Only s grants. If s has denied n events, the kept denial answers requests for n or more events of
// the same key of the same limiter, under the same policy. Here, a TakeUpTo counts as a request for
// a single event. The denial ends:
//
//   - when its RetryAfter is over. The limiter's clock measures that time, from before s was asked.
//     If a clock from [weir.WithClock] steps back, the limiter's time stands still until that clock
//     has caught up, and kept denials last longer.
//   - when MaxAge is over, if that is set
//   - when a call through this DenyCache is granted events of the key, gives some back, or resets
//     the key
//   - when this DenyCache asks s for the key under another policy, or needs the place for another
//     denial
//
// These requests go to s:
//
//   - looks (n = 0), give-backs and resets
//   - charges for more events than were booked
//   - requests of [weir.KeyedLimiter.Wait] and [weir.KeyedLimiter.Reserve]
//   - requests of [weir.KeyedLimiter.TakeByComponent] and [weir.KeyedLimiter.ReserveNow] whose
//     argument results is not nil
//
// A denial is not kept if it is [weir.Result.Degraded], or if its RetryAfter is Never.
//
// A DenyCache does not see the calls of other processes. If another process gives back events of a
// key or resets it, this process goes on denying until the kept denial ends.
//
// The answers that a DenyCache gives without s may differ from those of s in these fields:
//
//   - RetryAfter and ResetAfter may be too long, by about the time that s took to answer. If the
//     request is for more events than s has denied, RetryAfter and DecidedBy come from the kept
//     denial. RetryAfter may then be too short, and s may deny the request again after that time.
//     If that many events can never fit, RetryAfter is Never.
//   - Remaining is 0 if s has denied a single event. Otherwise it is what s reported. More may
//     remain by now.
//   - MoreAfter may be 0, which means that it is not known.
//
// If these differences matter, set Exact. Put a DenyCache in front of a [Fallback], not behind it.
// Denials that were kept before an outage then still hold during it.
//
// If s is nil or an option is out of range, [weir.New] returns an error, and so does each Do of the
// returned store. The store is safe for concurrent use.
func DenyCache(s weir.Store, opts DenyCacheOptions) weir.Store {
	c := &denyCache{
		store:  s,
		maxAge: opts.MaxAge,
		exact:  opts.Exact,
		seedA:  maphash.MakeSeed(),
		seedB:  maphash.MakeSeed(),
	}
	if c.maxAge == 0 {
		c.maxAge = weir.Never
	}
	maxKeys := opts.MaxKeys
	if maxKeys == 0 {
		maxKeys = 10_000
	}
	if fault := errors.Join(
		checkStore("DenyCache", "store", s),
		checkMaxKeys("DenyCacheOptions", maxKeys),
		checkOption("DenyCacheOptions.MaxAge", c.maxAge),
	); fault != nil {
		return misused{fault}
	}
	c.ways = min(maxKeys, denyWays)
	c.sets = make([]denySet, maxKeys/c.ways)
	return c
}

type denyCache struct {
	store        weir.Store
	maxAge       time.Duration
	exact        bool
	seedA, seedB maphash.Seed
	ways         int // denials in a set
	sets         []denySet
}

// Accept implements [weir.Acceptor].
func (c *denyCache) Accept(l *weir.KeyedLimiter) error { return weir.Accept(c.store, l) }

// Do implements [weir.Store].
func (c *denyCache) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	id := denialID{maphash.String(c.seedA, r.Key) | 1, maphash.String(c.seedB, r.Key)}
	i, _ := bits.Mul64(id.a, uint64(len(c.sets)))
	s := &c.sets[i]

	n := r.N // the N of the ask for all or none that is denied in the same way; 0 if there is none
	switch {
	case r.Forget || r.Mode == weir.Regardless || r.MaxWait > 0 || r.ByComponent != nil:
		n = 0
	case r.Mode == weir.UpTo:
		n = min(n, 1)
	}
	if n > 0 {
		if d := s.find(id, r.Plan); d != nil && d.covers(n, r.More, c.exact) {
			if now := r.Plan.Now(); now < d.until {
				return d.answer(n, r.More, now), nil
			}
		}
	}

	seen, before := s.changes.Load(), r.Plan.Now()
	a, err := c.store.Do(ctx, r)
	changed := r.Forget || r.N < 0 || r.N > 0 && err == nil && a.Allowed
	var d *denial
	if !changed && n > 0 && err == nil && !a.Degraded && a.RetryAfter != weir.Never &&
		(!c.exact || n == a.Remaining+1) { // else it could answer nothing, and would take the place of one that can
		d = &denial{
			plan: r.Plan, n: n, result: a.Result,
			at:    r.Plan.Now(),
			until: later(before, min(a.RetryAfter, c.maxAge)),
		}
	}
	s.note(id, r.Plan, changed, d, seen, c.ways)
	return a, err
}
