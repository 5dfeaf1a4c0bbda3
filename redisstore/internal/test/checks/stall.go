package checks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// StallHoldsNobody checks what happens while the server answers nothing. Callers are held up no
// longer than until their deadline, or for the Timeout. No more commands than allowed are in
// flight: one for each key.
func StallHoldsNobody(t *testing.T, m Maker) {
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	const bound = 8
	store := m.on(t, proxy.Addr(), remote.Config{Timeout: time.Second, MaxInFlight: bound})
	l := LimiterOn(t, store, Spacious)
	Eventually(t, "a decision", func() bool { return l.Allow("k") }) // a slow machine may need several tries
	proxy.Stall()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Take(ctx, "k", 1)
	must(t, errors.Is(err, context.DeadlineExceeded), "%v, want %v", err, context.DeadlineExceeded)

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = l.Take(ctx, "k", 1)
	must(t, errors.Is(err, context.Canceled), "%v, want %v", err, context.Canceled)

	const callers = 30
	errs := make(chan error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			_, err := l.Take(t.Context(), fmt.Sprint(i), 1)
			errs <- err
		})
	}
	all.Wait()
	noReply, busy := 0, 0
	for range callers {
		switch err := <-errs; {
		case errors.Is(err, remote.ErrNoReply):
			noReply++
		case errors.Is(err, remote.ErrBusy):
			busy++
		default:
			t.Errorf("unexpected: %v", err)
		}
	}
	check(t, noReply != 0, "each got a reply, or was not sent")
	// The two of before may have ended just before the others, and two more been sent in their
	// place.
	const sent = bound + 2
	atMost(t, sent, noReply, "callers without a reply")
	equal(t, callers-noReply, busy, "callers whose command was not sent")
	check(t, !l.Allow("k"), "a store that is down denies")

	proxy.Forward()
	Eventually(t, "a decision", func() bool { return l.Allow("k") })
	n := 0
	for i := range callers {
		n += Counted(t, l, fmt.Sprint(i))
	}
	atMost(t, noReply, n, "what was not sent is not counted")
}
