package fleet

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// LeaseOptions determine how a [LeaseStore] behaves. The zero value of every field is a good
// default.
type LeaseOptions struct {
	// MaxAge is the longest time, by the limiter's clock, that events are held before they are
	// used; 0 means one second. For some policies, the longest time is shorter. A Reset by another
	// process goes unnoticed for about MaxAge at most.
	MaxAge time.Duration

	// MaxKeys is the largest number of keys that are watched, and leased if they are busy. It is at
	// most 10,000,000; 0 means 10,000. A key takes about 500 bytes, plus the bytes of the key
	// itself. Keys that are neither leased nor busy make room for others. Requests for keys that
	// find no room go to the store, and so do requests for keys of more than 1,000 bytes. Set
	// MaxKeys to twice the number of busy keys, because a given key can take only eight of the
	// places.
	MaxKeys int

	// Report, if not nil, is called with the error if unused events cannot be given back. They may
	// then stay charged until the window no longer counts them. No caller gets that error. If the
	// store fails in a Reset while unused events of a window are held for the key, these may also
	// stay charged, and Report is called with the error of the Reset. If a [Fallback] gives events
	// back to its second store during an outage, they stay charged in its first store, and Report
	// is not called.
	//
	// Calls of Report can overlap. If Report panics in a call about a give-back, the program ends.
	// Report must not call a limiter of this store: in a Reset, that call may wait for the end of
	// the Reset, which is a deadlock.
	Report func(error)
}

// Lease returns a store that takes events of busy keys from s ahead of need, hands them out from
// memory, and gives back what it does not use. Events of a [weir.TokenBucket] are not given back:
// the bucket earns them again. Processes that share s make most decisions on busy keys about as
// fast as with a [weir.MemStore]. Together they grant no more than the policy allows, with the
// exceptions that docs/fleet.md lists.
//
// It leases these policies, if the [weir.Result.Limit] is at least 100, and MaxAge is 2 ms or
// longer:
//
//   - a [weir.TokenBucket] that earns 22 events or more within MaxAge, and takes 16 ms or more to
//     fill. Its Limit here is its Burst.
//   - a [weir.FixedWindow], [weir.CalendarWindow] or [weir.SlidingWindow] of 32 ms or longer
//   - a [weir.All] of such policies with at most one bucket. If it has a bucket, its windows may be
//     as short as 16 ms.
//
// A policy of another package can be leased if its Decider is a [weir.Holder]. A key is leased at
// its 20th decision at the earliest. These requests go to s, and do not use the events that are
// held:
//
//   - requests under policies that are not leased
//   - requests for keys that have few requests or more than 1,000 bytes, or for which MaxKeys
//     leaves no room
//   - requests of Wait, Reserve, ReserveNow, Settle, Cancel and Return, and of TakeByComponent if
//     its argument results is not nil
//
// TakeUpTo uses the events that are held, and asks s for the rest. A look (n = 0) asks s, and adds
// the events that are held to Remaining.
//
// Call [LeaseStore.Release] when the process ends. Without that call, the process's unused events
// of windows are lost to all processes until the windows no longer count them. docs/fleet.md says
// what a LeaseStore promises, and in which order to combine it with other stores. For example:
//
//	store := fleet.Lease(
//		fleet.Fallback(shared, new(weir.MemStore), fleet.FallbackOptions{Report: logOutage}),
//		fleet.LeaseOptions{})
//	defer store.Release(ctx)
//
// A lease does not bridge an outage. While the answers of s are Degraded, the LeaseStore takes no
// events ahead of need. It also takes none ahead of need from [Shares] of several members.
//
// Answers that a LeaseStore gives itself may differ from those of s:
//
//   - Remaining, ResetAfter and DecidedBy come from the last call for a lease. Remaining is the
//     number that s then had left, plus the events that are still held. In a denial, it is the
//     number of events that are still held. Events used since that call, by other processes or by
//     requests that went to s, are not subtracted.
//   - RetryAfter of a denial is usually the time until this process asks s again. A request after
//     RetryAfter may be denied, too.
//   - MoreAfter is not known, and is 0.
//
// A denial may also come too soon, while another process holds events that it does not use. After
// about the MaxAge of that process at the latest, a bucket has earned these events again, and a
// window has got them back. A window does not get them back if that process has crashed, or if its
// give-back has failed or has gone to the second store of a [Fallback].
//
// If s is nil or an option is out of range, [weir.New] returns an error, and so does each Do of the
// returned store. The store is safe for concurrent use. While no call of s is under way, the
// LeaseStore has no goroutine. A timer runs while the LeaseStore holds events that it could give
// back, and at most MaxAge longer.
func Lease(s weir.Store, opts LeaseOptions) *LeaseStore {
	l := &LeaseStore{store: s, maxAge: opts.MaxAge, report: opts.Report}
	if l.maxAge == 0 {
		l.maxAge = time.Second
	}
	maxKeys := opts.MaxKeys
	if maxKeys == 0 {
		maxKeys = 10_000
	}
	if l.fault = errors.Join(
		checkStore("Lease", "store", s),
		checkMaxKeys("LeaseOptions", maxKeys),
		checkOption("LeaseOptions.MaxAge", l.maxAge),
	); l.fault == nil {
		l.keys = newLeaseTable(maxKeys)
	}
	return l
}

// A LeaseStore is a store that takes events of another store ahead of need. [Lease] makes it.
type LeaseStore struct {
	store  weir.Store
	maxAge time.Duration
	report func(error)
	fault  error // of the options

	keys  leaseTable
	plans planMap[terms]
	watch leaseWatch

	released atomic.Bool
}

var _ weir.QuickStore = (*LeaseStore)(nil)

// Accept implements [weir.Acceptor].
func (s *LeaseStore) Accept(l *weir.KeyedLimiter) error {
	if s.fault != nil {
		return s.fault
	}
	return weir.Accept(s.store, l)
}

// TakeQuickly implements [weir.QuickStore]. It decides from the present lease of the key alone,
// without the store. If that is not possible, ok is false, and the caller must call Do.
func (s *LeaseStore) TakeQuickly(p *weir.Plan, key string, n int) (r weir.Result, ok bool) {
	if n < 1 {
		return r, false
	}
	k := s.keys.find(p, key)
	if k == nil {
		return r, false
	}
	l := k.lease.Load()
	if l == nil {
		return r, false
	}
	now := p.Now()
	if left, ok := l.use(n, now); ok { // [lease.take] would copy the Result, which takes 10 ns
		return l.granted(left, now), true
	}
	return l.deny(n, now)
}

// Do implements [weir.Store].
func (s *LeaseStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if s.fault != nil {
		return weir.Answer{}, s.fault
	}
	plain := r.N >= 0 && r.MaxWait <= 0 && r.Mode != weir.Regardless && r.Charges == nil && r.ByComponent == nil
	switch {
	case r.Forget: // also after Release, whose give-backs may be under way
		return s.forget(ctx, r)
	case !plain && r.N >= 0 || s.released.Load():
		return s.store.Do(ctx, r)
	case r.N < 0:
		a, err := s.store.Do(ctx, r)
		for k := range s.keys.like(r.Plan, r.Key) {
			k.reopen()
		}
		return a, err
	}
	k := s.keys.find(r.Plan, r.Key)
	if k == nil && r.N > 0 && r.Mode == weir.AllOrNone && len(r.Key) <= longestKey {
		if t := s.plans.of(r.Plan, s.newTerms); t.span > 0 {
			k = s.keys.add(t, r.Key)
		}
	}
	switch {
	case k == nil || r.N > k.limit && r.Mode == weir.AllOrNone:
		return s.store.Do(ctx, r)
	case r.N == 0:
		return s.look(ctx, k, r)
	case r.Mode == weir.UpTo:
		return s.takeUpTo(ctx, k, r)
	}
	return s.take(ctx, k, r)
}

// look adds the events that are held here to those that the store has.
func (s *LeaseStore) look(ctx context.Context, k *leasedKey, r weir.Request) (weir.Answer, error) {
	a, err := s.store.Do(ctx, r)
	if l := k.lease.Load(); err == nil && l != nil {
		if a.Remaining = min(a.Remaining+l.valid(r.Now()), a.Limit); a.Remaining == a.Limit {
			a.MoreAfter = 0 // as the store tells it if all remain there
		}
	}
	return a, err
}

// takeUpTo takes what is held here, and the rest from the store. The held events are taken last,
// because they may have become invalid when the store answers.
func (s *LeaseStore) takeUpTo(ctx context.Context, k *leasedKey, r weir.Request) (weir.Answer, error) {
	a, held := s.takeHeld(k, r.N, r.N)
	if a.Allowed || a.RetryAfter > 0 {
		return a, nil
	}
	n := r.N
	r.N -= held
	rest, err := s.store.Do(ctx, r)
	if err == nil {
		n -= rest.Granted
	}
	if held > 0 {
		a, _ = s.takeHeld(k, 1, n)
	}
	switch {
	case !a.Allowed:
		return rest, err
	case err != nil: // what is held is granted all the same
		return a, nil
	}
	rest.Allowed, rest.RetryAfter, rest.Granted = true, 0, rest.Granted+a.Granted
	rest.Degraded = rest.Degraded || a.Degraded
	return rest, nil
}

// takeHeld takes some of the events that the process holds: as many as there are, and no more than
// the argument most. It takes none if fewer than the argument least are held. It also returns how
// many were held. If none were, and the store must not be asked yet, the answer is a denial with a
// RetryAfter.
func (s *LeaseStore) takeHeld(k *leasedKey, least, most int) (a weir.Answer, held int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.plan.Now()
	a.At = now
	l := k.lease.Load()
	if l == nil {
		return a, 0
	}
	for held = l.valid(now); held >= least; held = l.valid(now) {
		if left, ok := s.renew(k, l, min(held, most), now); ok {
			a.Result, a.Granted = l.granted(left, now), min(held, most)
			return a, held
		}
		l = k.lease.Load() // others have taken some meanwhile
	}
	if held == 0 {
		a.Result, _ = l.take(1, now)
	}
	return a, held
}

// Release gives back the events that are held, except those of a [weir.TokenBucket], and waits
// until that is done, or ctx has ended. Call it when the process is about to end, before you close
// the client of the store behind. As soon as Release is called, no request starts a call that takes
// events ahead of need. Requests for a key go to the store behind, at the latest when Release
// begins to give back the events of that key.
//
// The only error is the error of ctx. Errors of give-backs go to Report in [LeaseOptions]. Events
// that were not given back may stay charged until the window no longer counts them. Release may be
// called again.
func (s *LeaseStore) Release(ctx context.Context) error {
	s.released.Store(true)
	s.giveBackAll(ctx, s.keys.all(), func(k *leasedKey) (l *lease, n int) {
		f, err := k.alone(ctx)
		if err == nil {
			defer k.land(f, false, nil) // even if the clock panics
			l, n = s.drop(k)
		}
		return l, n
	})
	err := ctx.Err()
	if err == nil {
		s.watch.stop()
	}
	for k := range s.keys.all() {
		err = cmp.Or(k.backs.wait(ctx), err)
	}
	return err
}
