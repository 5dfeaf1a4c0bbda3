package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// FallbackOptions determine how a [Fallback] behaves. The zero value of every field is a good
// default.
type FallbackOptions struct {
	// Budget is the longest time that a request waits for the first store; 0 means 100 ms. The wait
	// may be up to a sixteenth shorter. It is real time, whatever clock a limiter has. Calls that
	// wait for others of their key may take longer: see [Fallback].
	//
	// Set it well below the deadlines of the callers. If the context of a caller ends first, the
	// caller gets the error of that context, and no answer of the second store.
	Budget time.Duration

	// CoolDown is how long the first store gets no further requests after an outage has begun, and
	// after each failed try; 0 means one second. It is real time, too.
	CoolDown time.Duration

	// MaxInFlight is the largest number of calls in flight to the first store; 0 means 1000. It
	// includes calls whose callers have left. Requests above it go to the second store at once.
	//
	// A first store that hangs and ignores its context therefore holds at most that many
	// goroutines.
	MaxInFlight int

	// Report, if not nil, is called when the first store fails, and when it works again:
	//
	//   - with the error, when the failures begin, and then at most once per CoolDown
	//   - with nil, when the outage is over
	//   - with nil, if there was no outage, when the first store grants a request that comes a
	//     CoolDown or more after the last failure
	//
	// Calls of Report do not overlap. Report should return soon, because a request may wait for it.
	// If there are other things to report while Report runs, Report is called again afterwards, for
	// the latest of them only. Report must not call a limiter of this store: that call may wait for
	// the request that waits for Report, which is a deadlock. If Report panics, the request that
	// waits for it gets an error that says so.
	Report func(error)
}

// Fallback returns a store that asks the first store, and waits for its answer for a budget of
// time. If the first store fails or takes longer, the Fallback usually asks the second store. In
// the usual case, processes share the first store, and the second is a [weir.MemStore]:
//
//	store := fleet.Fallback(redis, new(weir.MemStore), fleet.FallbackOptions{Report: logOutage})
//
// While the first store grants other requests, one slow answer, or one lost connection of many, is
// not an outage. The second store answers the requests that fail in this way. All others still go
// to the first store. If a part of the first store hangs, such as one server of a cluster, each
// request that needs that part waits for the budget.
//
// An outage has these steps:
//
//   - A request fails, and the first store has granted no request that came within one Budget
//     before this failure. For a CoolDown, all further requests go to the second store.
//   - Then one request at a time tries the first store. All others still go to the second store. If
//     the try fails, another CoolDown begins.
//   - The outage ends when the first store grants events or resets a key in a try. All requests
//     then go to it again.
//   - A denial, a give-back or a look (n = 0) does not end the outage, because the first store
//     might still be unable to write. The caller still gets that answer, and the next request tries
//     the first store without another CoolDown.
//
// Some errors do not count as a failure of the first store:
//
//   - An error that wraps [weir.ErrRequest]. The caller gets it.
//   - The end of the caller's context. The call to the first store goes on, and still has its full
//     budget. Callers with short deadlines can therefore neither start an outage nor hide one.
//
// Calls of Wait, Reserve, Return and Reset for one key of a limiter may wait for each other, and
// for the calls that the next paragraph names. The time that a call waits for others is part of its
// budget. When the budget is spent, the second store answers a Wait or a Reserve, and a Return that
// has not asked the first store. This alone is not a failure of the first store. If the call has
// asked the first store, that store still has the full budget, and fails only if it takes longer.
//
// A Settle, a Cancel, or a Wait that gives up has a full budget after it has waited for others.
// [weir.KeyedLimiter.SetPolicy] and [weir.KeyedLimiter.Reset] may call the store once or more for
// each waiting caller, with a full budget for each. All these, and the calls that wait for them,
// may therefore take longer than one budget.
//
// More may be granted than the policy allows, because neither store knows what the other has
// granted. Answers of the second store have [weir.Result.Degraded] set. The first store grants a
// key what its policy allows, and so does the second store of each process. With 8 processes, this
// is at most 9 times the allowance in all. If second is a [Shares], the second stores of all
// processes together grant at most the allowance, with the exceptions that Shares lists. Together
// with the first store, this is at most twice the allowance. These bounds hold over any time,
// however often the first store fails and comes back, if no store loses its counts. A process that
// is started again has a new MemStore, which may grant the allowance once more.
//
// Special cases:
//
//   - The first store may execute a request that it did not answer within the budget, or on which
//     it returned an error. The events then count in both stores, which may deny too much.
//   - A give-back goes to the store that is in use when it comes. If the other store granted the
//     events, that many events more than the bounds above may be granted. If the first store is
//     asked, and fails or is late, the give-back returns an error.
//   - A reset must reach both stores. It returns an error if one of them fails, or if the first
//     store is not asked, as in most of an outage.
//
// A Fallback adds one to two microseconds, and about four allocations, to a call to the first
// store. Each such call has a goroutine of its own. The first store gets a context that has the
// values of the caller's, and ends somewhat before the budget is spent. A panic of the first store
// is a failure, too.
//
// If a store is nil or an option is below 0, [weir.New] returns an error, and so does each Do of
// the returned store. The store is safe for concurrent use.
func Fallback(first, second weir.Store, opts FallbackOptions) weir.Store {
	f := &fallback{
		first:       first,
		second:      second,
		budget:      opts.Budget,
		health:      health{coolDown: opts.CoolDown, report: opts.Report},
		maxInFlight: int64(opts.MaxInFlight),
	}
	if f.budget == 0 {
		f.budget = 100 * time.Millisecond
	}
	f.health.budget = f.budget
	if f.health.coolDown == 0 {
		f.health.coolDown = time.Second
	}
	if f.maxInFlight == 0 {
		f.maxInFlight = 1000
	}
	if fault := errors.Join(
		checkStore("Fallback", "first store", first),
		checkStore("Fallback", "second store", second),
		checkOption("FallbackOptions.Budget", f.budget),
		checkOption("FallbackOptions.CoolDown", f.health.coolDown),
		checkOption("FallbackOptions.MaxInFlight", f.maxInFlight),
	); fault != nil {
		return misused{fault}
	}
	f.late = fmt.Errorf("weir: the first store did not answer within %v", f.budget)
	return f
}

type fallback struct {
	first, second weir.Store
	budget        time.Duration
	maxInFlight   int64
	late          error // that the budget is spent

	health   health // of first
	inFlight atomic.Int64
	term     atomic.Pointer[term]
}

// Accept implements [weir.Acceptor]. If the first store does not accept l, its error is
// returned, and the second store is not asked: it would often report the same fault.
func (f *fallback) Accept(l *weir.KeyedLimiter) error {
	if err := weir.Accept(f.first, l); err != nil {
		return err
	}
	return weir.Accept(f.second, l)
}

// The reasons why first was not asked.
var (
	errResting = errors.New("weir: the first store has failed, and is not asked for a while")
	errCrowded = errors.New("weir: too many calls of the first store are under way")
	errNoTurn  = errors.New("weir: the budget was spent on waiting for other requests of the key")
)

// Do implements [weir.Store].
func (f *fallback) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if r.Forget {
		_, err := f.second.Do(ctx, r)
		_, _, first := f.ask(ctx, r)
		return weir.Answer{}, errors.Join(first, err)
	}
	a, asked, err := f.ask(ctx, r)
	switch {
	case err == nil || errors.Is(err, weir.ErrRequest) || errors.Is(err, errReport):
		return a, err
	case ctx.Err() != nil:
		return weir.Answer{}, ctx.Err()
	case asked && r.N < 0: // only one of the stores may give them back, and first may do so yet
		return weir.Answer{}, err
	}
	a, second := f.second.Do(ctx, needed(ctx, r))
	if second != nil {
		return weir.Answer{}, errors.Join(err, second)
	}
	return degraded(a, r), nil
}

// ask asks first, if it is to be asked now. It reports whether it has.
func (f *fallback) ask(ctx context.Context, r weir.Request) (a weir.Answer, asked bool, err error) {
	spent := weir.Waited(ctx)
	if spent >= f.budget {
		return a, false, errNoTurn
	}
	if f.inFlight.Add(1) > f.maxInFlight {
		f.inFlight.Add(-1)
		return a, false, errCrowded
	}
	now := realTime()
	try, ok := f.health.admit(now)
	if !ok {
		f.inFlight.Add(-1)
		return a, false, errResting
	}
	c := f.call(ctx, now, r, try)
	var hurry <-chan time.Time
	if spent > 0 {
		timer := time.NewTimer(f.budget - spent)
		defer timer.Stop()
		hurry = timer.C
	}
	a, err = c.wait(ctx, r, hurry)
	return a, true, err
}
