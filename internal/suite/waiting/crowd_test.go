package waiting

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

const ms = time.Millisecond

var background = context.Background()

// A crowd is the callers of one limiter's Wait in a testing/synctest bubble. A test with a crowd
// reads as a script: which callers come when, and what becomes of each.
type crowd struct {
	t       *testing.T
	l       *weir.KeyedLimiter
	now     func() time.Time
	start   time.Time
	callers []*visitor
	inside  sync.WaitGroup
}

// A visitor is one call of Wait.
type visitor struct {
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	gone   chan struct{} // closed when Wait has returned; then
	at     time.Duration // when it did, since the crowd's start
	err    error         // and what it returned
}

// bubble runs f with a new crowd for the policy, in a bubble. At the end it requires that all
// have returned and that the limiter remembers none of them.
func bubble(t *testing.T, p weir.Policy, f func(c *crowd), opts ...weir.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, weir.Must(weir.New(p, opts...)))
		f(c)
		c.end()
	})
}

func newCrowd(t *testing.T, l *weir.KeyedLimiter) *crowd {
	return &crowd{t: t, l: l, now: time.Now, start: time.Now()}
}

// end waits until everybody has returned.
func (c *crowd) end() {
	c.inside.Wait()
	assert.Zero(c.t, linesOf(c.l), "lines that are kept for nobody")
}

// linesOf is how many lines of waiting callers the limiter keeps. It looks into the limiter, under
// its lock: what is kept for nobody shows nowhere else.
func linesOf(l *weir.KeyedLimiter) int {
	lines := reflect.ValueOf(l).Elem().FieldByName("lines")
	mu := (*sync.Mutex)(lines.FieldByName("mu").Addr().UnsafePointer())
	mu.Lock()
	defer mu.Unlock()
	return lines.FieldByName("all").Len()
}

// until lets time pass until the instant d after the start.
func (c *crowd) until(d time.Duration) {
	time.Sleep(d - time.Since(c.start))
	synctest.Wait()
}

// come lets a caller wait for n events of the key "k". It returns when Wait has returned or blocks.
func (c *crowd) come(name string, n int) *visitor {
	return c.comeFor("k", name, n, context.Background())
}

// comeUntil is come with the deadline d after the start.
func (c *crowd) comeUntil(d time.Duration, name string, n int) *visitor {
	ctx, cancel := context.WithDeadline(context.Background(), c.start.Add(d))
	w := c.comeFor("k", name, n, ctx)
	context.AfterFunc(w.ctx, cancel)
	return w
}

// comeFor is come for any key and context.
func (c *crowd) comeFor(key, name string, n int, ctx context.Context) *visitor {
	w := &visitor{name: name, gone: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.WithValue(ctx, nameOfVisitor{}, name))
	c.callers = append(c.callers, w)
	c.inside.Go(func() {
		w.err = c.l.Wait(w.ctx, key, n)
		w.at = c.now().Sub(c.start)
		close(w.gone)
		w.cancel()
	})
	synctest.Wait()
	return w
}

// nameOfVisitor is where a context has its caller's name, for a Store to see.
type nameOfVisitor struct{}

// cancel cancels the context of the caller and lets it leave.
func (c *crowd) cancel(w *visitor) {
	w.cancel()
	synctest.Wait()
}

// look asks for no events of the key.
func (c *crowd) look(key string) weir.Result {
	r, err := c.l.Take(context.Background(), key, 0)
	require.NoError(c.t, err)
	return r
}

// want says what must have become of the callers, in the order in which they returned. Callers that
// returned at the same instant are in the order in which they came. Each row is "name instant" or
// "name instant error".
func (c *crowd) want(rows ...string) {
	c.t.Helper()
	assert.Equal(c.t, rows, c.returned())
}

func (c *crowd) returned() []string {
	done := slices.DeleteFunc(slices.Clone(c.callers), (*visitor).waits)
	slices.SortStableFunc(done, func(a, b *visitor) int { return cmp.Compare(a.at, b.at) })
	rows := make([]string, len(done))
	for i, w := range done {
		rows[i] = w.String()
	}
	return rows
}

// waits reports whether Wait has yet to return.
func (w *visitor) waits() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

func (w *visitor) String() string {
	return strings.TrimSpace(w.name + " " + w.at.String() + " " + inShort(w.err))
}

// inShort is a short name of an error that Wait returns.
func inShort(err error) string {
	for short, target := range map[string]error{
		"too-late":    weir.ErrTooLate,
		"never-fits":  weir.ErrNeverFits,
		"queue-full":  weir.ErrQueueFull,
		"cancelled":   context.Canceled,
		"deadline":    context.DeadlineExceeded,
		"store-fails": kit.ErrStore,
	} {
		if errors.Is(err, target) {
			return short
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// policiesToWaitFor are all five, with one event a second.
var policiesToWaitFor = []weir.Policy{
	weir.TokenBucket{Limit: 1, Per: time.Second},
	weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 20_000},
	weir.FixedWindow{Limit: 1, Per: time.Second},
	weir.FixedWindow{Limit: 1, Per: time.Second, FromFirst: true},
	weir.SlidingLog{Limit: 1, Per: time.Second},
	weir.SlidingWindow{Limit: 1, Per: time.Second},
}
