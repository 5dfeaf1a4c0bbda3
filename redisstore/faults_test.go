package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
)

// newStore leaves it to the contexts to end a call: a machine under load is no fault.
func newStore(t testing.TB, client redisstore.Client) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, redisstore.Options{Timeout: time.Minute})
	require.NoError(t, err)
	return s
}

// newClient is a client with the options that users have who set none.
func newClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// patientClient is one that gives up no reply: a machine under load is no fault.
func patientClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: checks.Patience})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func made(t testing.TB, addrs []string, c remote.Config) weir.Store {
	c.Timeout = cmp.Or(c.Timeout, checks.Patience)
	s, err := redisstore.Open(patientClient(t, addrs[0]), c)
	require.NoError(t, err)
	return s
}

// traffic is callers that keep asking for one event, and the answers that they get.
type traffic struct {
	limiter  *weir.KeyedLimiter
	deadline time.Duration // of each call
	keys     []keyTraffic
	slowest  atomic.Int64
	degraded atomic.Int64
	lastErr  atomic.Pointer[error]
	halted   chan struct{}
	callers  sync.WaitGroup
}

// keyTraffic has the answers that callers got for one key.
type keyTraffic struct {
	name            string
	granted, failed atomic.Int64
}

// drive starts callers, who ask for keys in turn. They stop when the test ends, or by halt.
func drive(t testing.TB, l *weir.KeyedLimiter, callers, keys int, deadline time.Duration) *traffic {
	tr := &traffic{limiter: l, deadline: deadline, keys: make([]keyTraffic, keys), halted: make(chan struct{})}
	for i := range tr.keys {
		tr.keys[i].name = fmt.Sprint("key ", i)
	}
	pause := runs.Long(10*time.Millisecond, 30*time.Millisecond) // for many tests drive at once
	for i := range callers {
		tr.callers.Go(func() {
			for ; ; i++ {
				select {
				case <-tr.halted:
					return
				case <-time.After(pause):
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

// awaitServed waits until a call for each key was granted that began after now, and returns how
// long that took.
func (tr *traffic) awaitServed(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	for i := range tr.keys {
		k := &tr.keys[i]
		before := k.granted.Load()
		checks.Eventually(t, "a grant for "+k.name, func() bool { return k.granted.Load() > before })
	}
	return time.Since(begun)
}

// awaitFailed waits until some more calls have failed.
func (tr *traffic) awaitFailed(t testing.TB) {
	t.Helper()
	_, before := tr.sum()
	checks.Eventually(t, "a call to fail", func() bool {
		_, now := tr.sum()
		return now >= before+5
	})
}

// check halts the traffic, and checks that nothing was counted twice: Redis has counted each
// granted call once, and each failed call once at most. Unless forgetful is set, it has also
// forgotten nothing.
func (tr *traffic) check(t testing.TB, forgetful bool) {
	t.Helper()
	tr.halt()
	for i := range tr.keys {
		k := &tr.keys[i]
		n, granted, failed := checks.Counted(t, tr.limiter, k.name), int(k.granted.Load()), int(k.failed.Load())
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
