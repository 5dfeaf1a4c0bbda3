package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// R16: a grant of the Unix epoch, where mock clocks start, is known as well as any other. When it
// counts no more, cancelling it does not free an event of later.
func TestR16_AtTheUnixEpoch(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 10, Per: time.Second},
		weir.FixedWindow{Limit: 10, Per: time.Second, FromFirst: true},
		weir.SlidingWindow{Limit: 10, Per: time.Second},
		weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 5},
		weir.SlidingLog{Limit: 10, Per: time.Second},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			s := newDriven(t, client, anySkew)
			l := newLimiter(t, s, p, "")
			s.set(time.Unix(0, 0))
			r, err := l.Reserve(t.Context(), "k", 1)
			require.NoError(t, err)
			require.True(t, r.Allowed)
			s.set(time.Unix(2, 0))
			take(t, l, "k", 1)
			before := take(t, l, "k", 0)
			require.NoError(t, r.Cancel(t.Context()))
			assert.Equal(t, before, take(t, l, "k", 0))
		})
	}
}

// R4: an event of that instant leaves a log as any other does, and RetryAfter tells when.
func TestR4_AtTheUnixEpoch(t *testing.T) {
	s := newDriven(t, newClient(t, redistest.Single(t).Addr()), anySkew)
	l := newLimiter(t, s, weir.SlidingLog{Limit: 2, Per: time.Second}, "")
	take(t, l, "k", 1)
	s.set(time.Unix(0, int64(time.Millisecond)))
	take(t, l, "k", 1)
	assert.Equal(t, 999*time.Millisecond, take(t, l, "k", 1).RetryAfter)
}
