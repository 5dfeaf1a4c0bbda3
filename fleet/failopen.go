package fleet

import (
	"context"
	"errors"

	"github.com/weir-go/weir"
)

// FailOpenOptions are the options of [FailOpen]. The zero value reports nothing.
type FailOpenOptions struct {
	// Report, if not nil, is called with the error of the store, before FailOpen answers a request
	// itself. Several goroutines may call it at once. It should only count the errors, or log some
	// of them. It must not call a limiter of this store: that call may wait for the request that
	// waits for Report, which is a deadlock.
	Report func(error)
}

// FailOpen returns a store that grants nearly all requests on which s fails.
//
// If s fails, FailOpen answers as for a new key, with [weir.Result.Degraded] set. It denies a
// request for more events than the policy ever grants. It counts nothing. While s fails, there is
// therefore no bound on how many events are granted. A request waits until s answers or fails,
// however long that takes.
//
// [Fallback] with a [weir.MemStore] is nearly always the better choice. It limits in each process,
// and it bounds the time that a request waits for the store.
//
// In these cases, the error of s is returned, and nothing is granted:
//
//   - The context of the caller has ended.
//   - The error wraps [weir.ErrRequest].
//   - The request is a give-back or a reset, which has nothing to grant.
//
// If s is nil, [weir.New] returns an error, and so does each Do of the returned store. The store is
// safe for concurrent use.
func FailOpen(s weir.Store, opts FailOpenOptions) weir.Store {
	if fault := checkStore("FailOpen", "store", s); fault != nil {
		return misused{fault}
	}
	return &failOpen{store: s, report: opts.Report}
}

type failOpen struct {
	store  weir.Store
	report func(error)
}

// Accept implements [weir.Acceptor].
func (f *failOpen) Accept(l *weir.KeyedLimiter) error { return weir.Accept(f.store, l) }

// Do implements [weir.Store].
func (f *failOpen) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := f.store.Do(ctx, r)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil || errors.Is(err, weir.ErrRequest) || r.N < 0 || r.Forget:
		return weir.Answer{}, err
	}
	if f.report != nil {
		f.report(err)
	}
	r = needed(ctx, r)
	now := r.Now()
	_, a = r.Decider.Decide(make([]uint64, r.Decider.Words()), now, r.Ask)
	a.At = now
	return degraded(a, r), nil
}
