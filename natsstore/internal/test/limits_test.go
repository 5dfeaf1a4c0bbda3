package test

import (
	"fmt"
	"math"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
)

// A wide policy grants all events. Its state has a word for each.
type wide struct{}

func (wide) Decider() (weir.Decider, error) { return wide{}, nil }
func (wide) Words() int                     { return 0 }
func (wide) Expiry([]uint64) int64          { return math.MaxInt64 }

func (wide) Decide(state []uint64, _ int64, ask weir.Ask) ([]uint64, weir.Answer) {
	state = append(state, make([]uint64, ask.N)...)
	return state, weir.Answer{Result: weir.Result{Allowed: true, Limit: 1 << 20, Remaining: 1<<20 - len(state)}}
}

// A state that is larger than the bucket or the server takes is an error of its key, and no outage.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	for _, c := range []struct {
		most   int32 // of the bucket; 0 means that of the server, a megabyte
		events int
	}{{1000, 125}, {0, 1 << 17}} {
		name := newBucket(t, js, func(kv *jetstream.KeyValueConfig) { kv.MaxValueSize = c.most })
		l := newLimiter(t, newStore(t, js, name), wide{})
		r, err := l.Take(t.Context(), "k", c.events)
		require.ErrorIs(t, err, weir.ErrRequest)
		assert.ErrorContains(t, err, "natsstore: cannot replace a value in bucket "+name+": ")
		assert.ErrorContains(t, err, fmt.Sprint("the value has ", 8*c.events/1000))
		assert.Equal(t, weir.Result{}, r)
		assert.True(t, l.Allow("k"), "one has room")
		assert.Equal(t, 1, traffic.Counted(t, l, "k"))
	}
}

// A full bucket refuses new keys, and forgets none.
func TestFullBucket(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	s := newStore(t, js, newBucket(t, js, func(c *jetstream.KeyValueConfig) { c.MaxBytes = 1000 }))
	require.NoError(t, s.Check(t.Context()))
	l := newLimiter(t, s, traffic.Spacious)
	n := 0
	for ; ; n++ {
		_, err := l.Take(t.Context(), fmt.Sprint(n), 1)
		if err != nil {
			assert.ErrorContains(t, err, "maximum bytes exceeded")
			assert.NotErrorIs(t, err, weir.ErrRequest)
			break
		}
		require.Less(t, n, 100)
	}
	require.Positive(t, n)
	for i := range n {
		_, err := l.Take(t.Context(), fmt.Sprint(i), 1)
		require.NoError(t, err, "a known key")
		assert.Equal(t, 2, traffic.Counted(t, l, fmt.Sprint(i)))
	}
}
