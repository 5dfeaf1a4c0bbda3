package weir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// FallbackOptions are how a [Fallback] behaves. The zero value of every field is a good default.
type FallbackOptions struct {
	// Budget is how long a request waits for the first store at most; 0 means 100 ms. It may be up
	// to a sixteenth less. It is real time, whatever clock a limiter has.
	//
	// Set it well below the deadlines of the callers: one whose context ends before gets the error
	// of that context, and no answer of the second store.
	Budget time.Duration

	// CoolDown is for how long the first store is left alone when it has failed; 0 means one
	// second. It is real time, too.
	CoolDown time.Duration

	// MaxInFlight bounds how many calls of the first store are under way at once, those that nobody
	// waits for any more among them; 0 means 1000. A request beyond it goes to the second store at
	// once. So a first store that hangs, and ignores its context, costs that many goroutines and no
	// more. While as many hang, it is not asked again.
	MaxInFlight int

	// Report, if not nil, is called with the error when the first store has failed and will be left
	// alone for a CoolDown, and with nil when it is back: once at the start and at the end of an
	// outage, and once per CoolDown in between. It should return soon, since a request waits for it.
	// Calls can overlap. If it panics, the request that waits for it gets an error that says so.
	Report func(error)
}

// Fallback returns a store that asks first, within a budget of time, and second where first fails
// or takes longer. Usually first is shared by processes, and second a [MemStore]:
//
//	store := weir.Fallback(redis, new(weir.MemStore), weir.FallbackOptions{Report: logOutage})
//
// When first has failed once, it is left alone for a cool-down, and no request waits for it. Then
// one request at a time tries it. An outage ends, and all ask first again, when first grants
// something or resets a key: a denial or a look only reads, and proves nothing of a store that can
// no longer write. Its answer counts all the same, and the next request tries first without another
// cool-down.
//
// An error that wraps [ErrRequest] is returned, and is no failure of first. Nor is it one that the
// context of a caller ends: the caller gets that error at once, and the call of first is given its
// budget all the same. So callers in a hurry can neither keep others from first, nor hide that it
// hangs.
//
// Calls of Wait, Reserve, Return and Reset for one key take turns in a limiter. The time that one of
// them waits for others is part of its budget. When that is spent it is answered by second, and
// first is given its budget all the same: it has not failed, and nothing is reported.
//
// What it trades: first never hears what second has granted, nor second what first has. The answers
// of second have [Result.Degraded] set. The bound: over any time, however often first comes and
// goes, a key is granted what its policy allows by first, and as much again by the second of each
// process. With 8 processes that is 9 times the allowance at most.
//
// A request that first does not answer within the budget may still be carried out by it, and the
// same holds for some errors. Its events then count in both stores, which rather denies too much. A
// give-back goes to the store that is asked when it comes, and so maybe not to the one that
// granted; what crosses over in this way adds to the bound. A reset goes to both, and fails if it
// does not reach first.
//
// It adds one to two microseconds, and four allocations, to a call of first: each has a goroutine
// of its own, for there is no other way to be on time if first does not return. First gets a
// context with the values of the caller's that ends somewhat before the budget does. If first
// panics, it has failed.
//
// A store that is nil, and an option below 0, is an error of [New] and of each Do. The store is safe for concurrent use.
func Fallback(first, second Store, opts FallbackOptions) Store {
	f := &fallback{
		first:       first,
		second:      second,
		budget:      opts.Budget,
		coolDown:    opts.CoolDown,
		maxInFlight: int64(opts.MaxInFlight),
		report:      opts.Report,
	}
	if f.budget == 0 {
		f.budget = 100 * time.Millisecond
	}
	if f.coolDown == 0 {
		f.coolDown = time.Second
	}
	if f.maxInFlight == 0 {
		f.maxInFlight = 1000
	}
	if fault := errors.Join(
		checkStore("Fallback", "first store", first),
		checkStore("Fallback", "second store", second),
		checkOption("FallbackOptions.Budget", f.budget),
		checkOption("FallbackOptions.CoolDown", f.coolDown),
		checkOption("FallbackOptions.MaxInFlight", f.maxInFlight),
	); fault != nil {
		return misused{fault}
	}
	f.late = fmt.Errorf("weir: the first store did not answer within %v", f.budget)
	return f
}

type fallback struct {
	first, second    Store
	budget, coolDown time.Duration
	maxInFlight      int64
	report           func(error)
	late             error // that the budget is spent

	clock     nanoClock    // of the system: an outage happens in real time
	restUntil atomic.Int64 // 0, or the instant from which on first, which has failed, may be tried; the last one while it is
	inFlight  atomic.Int64
	term      atomic.Pointer[term]
}

// Accept implements [Acceptor]. If the first store does not accept l, the second is not asked, and does
// not say the same again.
func (f *fallback) Accept(l *Keyed) error {
	if err := Accept(f.first, l); err != nil {
		return err
	}
	return Accept(f.second, l)
}

// Why first was not asked.
var (
	errResting = errors.New("weir: the first store has failed, and is not asked for a while")
	errCrowded = errors.New("weir: too many calls of the first store are under way")
	errNoTurn  = errors.New("weir: the budget was spent on waiting for other requests of the key")
)

var errReport = errors.New("weir: FallbackOptions.Report panicked")

// Do implements [Store].
func (f *fallback) Do(ctx context.Context, r Request) (Answer, error) {
	if r.Forget {
		_, err := f.second.Do(ctx, r)
		_, first := f.ask(ctx, r)
		return Answer{}, errors.Join(first, err)
	}
	a, err := f.ask(ctx, r)
	switch {
	case err == nil || errors.Is(err, ErrRequest) || errors.Is(err, errReport):
		return a, err
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	}
	a, second := f.second.Do(ctx, r)
	if second != nil {
		return Answer{}, errors.Join(err, second)
	}
	return degraded(a, r), nil
}

// ask asks first, if it is to be asked now.
func (f *fallback) ask(ctx context.Context, r Request) (Answer, error) {
	spent, hurry := waited(ctx)
	if hurry && spent >= f.budget {
		return Answer{}, errNoTurn
	}
	if f.inFlight.Add(1) > f.maxInFlight {
		f.inFlight.Add(-1)
		return Answer{}, errCrowded
	}
	now := f.clock.now()
	try, ok := f.admit(now)
	if !ok {
		f.inFlight.Add(-1)
		return Answer{}, errResting
	}
	c := f.call(ctx, now, r, try)
	if !hurry {
		return c.wait(ctx, r, nil)
	}
	timer := time.NewTimer(f.budget - spent)
	defer timer.Stop()
	return c.wait(ctx, r, timer.C)
}

// admit tells whether first may be asked at now, and whether that is to try if it is back.
func (f *fallback) admit(now int64) (try, ok bool) {
	until := f.restUntil.Load()
	if until == 0 {
		return false, true
	}
	try = now >= until && f.restUntil.CompareAndSwap(until, math.MaxInt64)
	return try, try
}

// judge draws the conclusion from a call of first that ended with err, or has written something. It
// returns an error if Report panics.
func (f *fallback) judge(try, wrote bool, err error) error {
	news, until := try, int64(0)
	switch {
	case errors.Is(err, ErrRequest) || err == nil && !wrote:
		// This tells nothing: the request may not even have reached the server. Another may try at once.
		news, until = false, 1
	case err != nil:
		until = saturatingAdd(f.clock.now(), f.coolDown)
		news = try || f.restUntil.CompareAndSwap(0, until)
	}
	if try {
		f.restUntil.Store(until)
	}
	if news && f.report != nil {
		return f.tell(err)
	}
	return nil
}

// tell calls Report. It may be called in a goroutine in which nobody could recover.
func (f *fallback) tell(news error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errReport, p, debug.Stack())
		}
	}()
	f.report(news)
	return nil
}
