package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore"
)

// spacious is never used up in a test, and its window doesn't end in one. So what Redis has counted
// is Limit - Remaining, whatever the callers were told.
var spacious = weir.FixedWindow{Limit: 1_000_000, Per: 365 * 24 * time.Hour, FromFirst: true}

// patience is how long the tests wait for what must happen soon. Where a fault would take longer to be
// noticed than this, it is not handled.
const patience = 20 * time.Second

// newStore leaves it to the contexts to end a call: a machine under load is no fault.
func newStore(t testing.TB, client redisstore.Client) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, redisstore.WithTimeout(time.Minute))
	require.NoError(t, err)
	return s
}

// newClient is a client with the options that users have who set none.
func newClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// limiterOn is a limiter that has its state in store. Each has a name of its own.
func limiterOn(t testing.TB, store weir.Store, p weir.Policy) *weir.Keyed {
	return weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(t.Name())))
}

// counted is how many events Redis has counted for the key. It is asked for until there is an answer.
func counted(t testing.TB, l *weir.Keyed, key string) int {
	t.Helper()
	var r weir.Result
	eventually(t, "an answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		r, err = l.Take(ctx, key, 0)
		return err == nil
	})
	return r.Limit - r.Remaining
}

// eventually waits until done.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// traffic is callers that keep asking for one event, and what they are told.
type traffic struct {
	limiter  *weir.Keyed
	deadline time.Duration // of each call
	keys     []keyTraffic
	slowest  atomic.Int64
	degraded atomic.Int64
	lastErr  atomic.Pointer[error]
	halted   chan struct{}
	callers  sync.WaitGroup
}

// keyTraffic is what callers were told of one key.
type keyTraffic struct {
	name            string
	granted, failed atomic.Int64
}

// drive starts callers, who ask for keys in turn. They stop when the test ends, or by halt.
func drive(t testing.TB, l *weir.Keyed, callers, keys int, deadline time.Duration) *traffic {
	tr := &traffic{limiter: l, deadline: deadline, keys: make([]keyTraffic, keys), halted: make(chan struct{})}
	for i := range tr.keys {
		tr.keys[i].name = fmt.Sprint("key ", i)
	}
	for i := range callers {
		tr.callers.Go(func() {
			for ; ; i++ {
				select {
				case <-tr.halted:
					return
				case <-time.After(10 * time.Millisecond):
					tr.call(&tr.keys[i%keys])
				}
			}
		})
	}
	t.Cleanup(tr.halt)
	tr.awaitServed(t)
	return tr
}

func (tr *traffic) call(k *keyTraffic) {
	ctx, cancel := context.WithTimeout(context.Background(), tr.deadline)
	defer cancel()
	begun := time.Now()
	r, err := tr.limiter.Take(ctx, k.name, 1)
	if took := int64(time.Since(begun)); took > tr.slowest.Load() {
		tr.slowest.Store(took) // two at a time may lose the larger: it is for bounds that are wide
	}
	if r.Degraded {
		tr.degraded.Add(1)
	}
	switch {
	case err != nil:
		k.failed.Add(1)
		tr.lastErr.Store(&err)
	case r.Allowed:
		k.granted.Add(1)
	}
}

func (tr *traffic) halt() {
	select {
	case <-tr.halted:
	default:
		close(tr.halted)
	}
	tr.callers.Wait()
}

// sum is how many calls were granted, and how many failed.
func (tr *traffic) sum() (granted, failed int64) {
	for i := range tr.keys {
		granted += tr.keys[i].granted.Load()
		failed += tr.keys[i].failed.Load()
	}
	return granted, failed
}

// awaitServed waits until a call for each key was granted that began after now, and returns how long
// that took.
func (tr *traffic) awaitServed(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	for i := range tr.keys {
		k := &tr.keys[i]
		before := k.granted.Load()
		eventually(t, "a grant for "+k.name, func() bool { return k.granted.Load() > before })
	}
	return time.Since(begun)
}

// awaitFailed waits until some more calls have failed.
func (tr *traffic) awaitFailed(t testing.TB) {
	t.Helper()
	_, before := tr.sum()
	eventually(t, "a call to fail", func() bool {
		_, now := tr.sum()
		return now >= before+5
	})
}

// check halts the traffic, and checks that nothing was counted twice: Redis has counted what was granted,
// and of the calls that failed, of which no caller knows, each once at most. Unless forgetful, it has also
// forgotten nothing.
func (tr *traffic) check(t testing.TB, forgetful bool) {
	t.Helper()
	tr.halt()
	for i := range tr.keys {
		k := &tr.keys[i]
		n, granted, failed := counted(t, tr.limiter, k.name), int(k.granted.Load()), int(k.failed.Load())
		require.LessOrEqual(t, n, granted+failed, "%s: counted of %d granted and %d failed", k.name, granted, failed)
		if !forgetful {
			require.GreaterOrEqual(t, n, granted, "%s: counted of those granted", k.name)
		}
	}
	granted, failed := tr.sum()
	t.Logf("%d granted, %d failed (the last: %v), slowest call %v of a deadline of %v",
		granted, failed, tr.err(), time.Duration(tr.slowest.Load()), tr.deadline)
}

func (tr *traffic) err() error {
	if err := tr.lastErr.Load(); err != nil {
		return *err
	}
	return nil
}
