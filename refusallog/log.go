// Package refusallog writes refused requests to a [log/slog.Logger]. A flood of refusals does not
// flood the log, because weir limits the lines. Refusals without a line are counted.
//
//	refusals, err := refusallog.New(slog.Default(), "login", refusallog.Options{})
//	…
//	limit := httplimit.Middleware{
//		Limiter: limiter,
//		Key:     httplimit.RemoteIP,
//		Observe: func(r *http.Request, d httplimit.Decision) {
//			refusals.Refused(r.Context(), weir.Refusal{
//				Key: d.Key, N: d.Cost, Result: d.Result, Err: d.Err, Enforced: true,
//			})
//		},
//	}
//
// You can call [Log.Refused] in the same way after any [weir.Limiter.Take], or in the function that
// a [weir.Shadow] calls.
//
// Lines have no key, unless [Options.Key] is set. Keys may be addresses or names of people, or
// secrets such as API keys.
package refusallog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// Options determine what a [Log] writes. The zero value of every field is a good default.
type Options struct {
	// Lines limits how many lines the log writes. There is one allowance for denials, and one for
	// requests on which the limiter failed. If Lines is nil, the limit is a [weir.TokenBucket] of
	// 10 a minute.
	Lines weir.Policy

	// Key returns the text that is logged for a key. It may shorten or hash the key. If Key is nil,
	// no line has a key. Key is called only for refusals that get a line. Several goroutines may
	// call it at once.
	Key func(key string) string
}

// A Log writes the refusals of one limiter. [New] makes it. It is safe for concurrent use.
type Log struct {
	to      *slog.Logger
	limiter string
	key     func(string) string
	lines   *weir.KeyedLimiter
	denied  kind
	failed  kind

	panicked atomic.Pointer[error] // what the timer caught, for the next caller
}

// A kind is the lines that share an allowance.
type kind struct {
	name    string // the key of the allowance
	level   slog.Level
	summary string
	leftOut atomic.Int64 // refusals without a line since the last line
	pending atomic.Bool  // whether a timer is set that reports them
}

// New returns a log that writes to a logger. limiter is the name under which the limiter appears in
// the lines. A nil logger and invalid Lines are errors.
func New(to *slog.Logger, limiter string, opts Options) (*Log, error) {
	var err error
	if to == nil {
		err = errors.New("weir: refusallog.New with a nil Logger, must be a Logger")
	}
	if opts.Lines == nil {
		opts.Lines = weir.TokenBucket{Limit: 10, Per: time.Minute}
	}
	lines, fault := weir.New(opts.Lines)
	if fault != nil {
		fault = fmt.Errorf("weir: refusallog.Options.Lines: %w", fault)
	}
	if err = errors.Join(err, fault); err != nil {
		return nil, err
	}
	l := &Log{to: to, limiter: limiter, key: opts.Key, lines: lines}
	l.denied.name, l.denied.level, l.denied.summary = "denied", slog.LevelWarn, "requests over the limit"
	l.failed.name, l.failed.level, l.failed.summary = "failed", slog.LevelError, "requests without a decision"
	return l, nil
}

// Refused writes a line about r, or only counts r if no more lines are allowed now. ctx goes to the
// handler of the logger. Set r.Enforced if the request was really refused. Without Enforced, the
// line says that the request would be refused. The Refusals of a [weir.Shadow] have the right
// Enforced already.
//
// Denials are logged at the level Warn. The errors [weir.ErrTooLate], [weir.ErrNeverFits] and
// [weir.ErrQueueFull] of a Wait are denials. Any other Err is logged at the level Error. Nothing is
// logged or counted in these cases:
//
//   - r was granted.
//   - The caller has gone: Err wraps [context.Canceled].
//   - The logger is not enabled for the level.
//
// The line has the limiter's name, the number of events, and the text of Err if there is one. If
// the Result has a Limit, the line also has the Limit, the Remaining, and a RetryAfter that is not
// [weir.Never]. If the Result is Degraded, the line says that.
//
// The field left_out is the number of denials, or of errors, without a line since the last line of
// the same kind. If something is left out and no other line follows, a timer writes a line with
// only the limiter's name and left_out, when the allowance has room for it. For this line, the
// handler gets a context without values. If the logger is not enabled for the level when the timer
// fires, the number waits for the next line.
//
// If the handler panics, so does Refused. If the handler panics on the line of a timer, the next
// call of Refused that has something to log panics with an error that says so. What could not be
// logged stays counted in left_out.
func (l *Log) Refused(ctx context.Context, r weir.Refusal) {
	k := &l.denied
	switch {
	case r.Err != nil && isDenial(r.Err):
	case errors.Is(r.Err, context.Canceled):
		return
	case r.Err != nil:
		k = &l.failed
	case r.Result.Allowed:
		return
	}
	if !l.to.Enabled(ctx, k.level) {
		return
	}
	after := l.mayWrite(k)
	panicked := l.panicked.Swap(nil)
	if after > 0 || panicked != nil {
		k.leftOut.Add(1)
		l.summarize(k, after)
		if panicked != nil {
			panic(*panicked)
		}
		return
	}
	leftOut, written := k.leftOut.Swap(0), false
	defer func() {
		if !written {
			k.leftOut.Add(leftOut + 1)
			l.summarize(k, 0)
		}
	}()
	l.to.LogAttrs(ctx, k.level, message(r), l.attrs(r, leftOut)...)
	written = true
}

// isDenial reports whether an error of Wait is a denial.
func isDenial(err error) bool {
	return errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrNeverFits) || errors.Is(err, weir.ErrQueueFull)
}

// mayWrite returns 0 if a line of a kind may be written now, and counts it. Otherwise it returns
// the time after which to ask again. The limiter is in memory, and cannot fail.
func (l *Log) mayWrite(k *kind) time.Duration {
	r, _ := l.lines.Take(context.Background(), k.name, 1)
	return r.RetryAfter
}

// summarize sets a timer that reports the refusals without a line, unless one is set. The timer
// comes a second late. In a flood, a refusal has then taken the allowance, for a line that says
// more.
func (l *Log) summarize(k *kind, after time.Duration) {
	if k.pending.CompareAndSwap(false, true) {
		time.AfterFunc(min(after, weir.Never-time.Second)+time.Second, func() { l.report(k) })
	}
}

// report writes the line of the timer. A panic in the goroutine of a timer would end the process.
func (l *Log) report(k *kind) {
	leftOut := int64(0)
	defer func() {
		k.leftOut.Add(leftOut)
		if v := recover(); v != nil {
			err := fmt.Errorf("weir: refusallog: a panic in the line %q: %v\n\n%s", k.summary, v, debug.Stack())
			l.panicked.Store(&err)
		}
	}()
	k.pending.Store(false) // a refusal that is left out from here on sets a timer of its own
	if k.leftOut.Load() == 0 || !l.to.Enabled(context.Background(), k.level) {
		return
	}
	if after := l.mayWrite(k); after > 0 {
		l.summarize(k, after)
		return
	}
	leftOut = k.leftOut.Swap(0)
	l.to.LogAttrs(context.Background(), k.level, k.summary,
		slog.String("limiter", l.limiter), slog.Int64("left_out", leftOut))
	leftOut = 0
}
