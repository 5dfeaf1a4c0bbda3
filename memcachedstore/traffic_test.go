package memcachedstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// traffic is callers that keep asking for one event, and their answers by key.
type traffic struct {
	limiter         *weir.KeyedLimiter
	granted, failed [4]atomic.Int64
	halt            context.CancelFunc
	callers         sync.WaitGroup
}

func drive(t *testing.T, s weir.Store) *traffic {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{limiter: newLimiter(t, s, spacious, newName()), halt: cancel}
	t.Cleanup(tr.stop)
	for i := range 16 {
		tr.callers.Go(func() {
			for ; ctx.Err() == nil; i++ {
				tr.call(t, i%len(tr.granted))
				time.Sleep(time.Millisecond)
			}
		})
	}
	tr.awaitServed(t)
	return tr
}

func (tr *traffic) call(t *testing.T, i int) {
	r, err := tr.limiter.Take(t.Context(), fmt.Sprint(i), 1)
	switch {
	case err != nil:
		tr.failed[i].Add(1)
	case r.Allowed:
		tr.granted[i].Add(1)
	}
}

func (tr *traffic) stop() {
	tr.halt()
	tr.callers.Wait()
}

func sum(of *[4]atomic.Int64) (n int64) {
	for i := range of {
		n += of[i].Load()
	}
	return n
}

// awaitServed waits for some grants, all but the first few of which began after now.
func (tr *traffic) awaitServed(t *testing.T) {
	before := sum(&tr.granted)
	eventually(t, "grants", func() bool { return sum(&tr.granted) > before+20 })
}

func (tr *traffic) awaitFailed(t *testing.T) {
	before := sum(&tr.failed)
	eventually(t, "failures", func() bool { return sum(&tr.failed) > before })
}
