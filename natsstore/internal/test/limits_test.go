package test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/natsstore/internal/bucket"
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
		name := newBucket(t, js, func(s *jetstream.StreamConfig) { s.MaxMsgSize = c.most })
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

// A value that is larger than the server takes by a byte does not reach the client. The client
// would not send it either, but would keep the channel of each such request, and begins to keep
// channels with a subscription. A value with a byte less is written.
func TestTooLarge_NotRequested(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	headers := nats.NewMsg("")
	headers.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	headers.Header.Set(jetstream.MsgTTLHeader, "1s")
	most := int(js.Conn().MaxPayload()) - headers.Size()
	other := connect(t, addr(sharedServer(t)))
	r := bucket.New(js, newBucket(t, other))
	_, _, err := r.Swap(t.Context(), "k", casstore.Entry{}, make([]byte, most+1), time.Second)
	require.ErrorIs(t, err, weir.ErrRequest)
	assert.ErrorIs(t, err, nats.ErrMaxPayload)
	assert.Zero(t, js.Conn().NumSubscriptions())
	_, ok, err := r.Swap(t.Context(), "k", casstore.Entry{}, make([]byte, most), time.Second)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, 1, js.Conn().NumSubscriptions())
}

// A full bucket forgets no key. It refuses new keys, and known ones, too, if their messages grow:
// here by a digit of the revision that they replace. TestCluster has a full bucket with replicas.
func TestFullBucket(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	s := newStore(t, js, newBucket(t, js, func(c *jetstream.StreamConfig) { c.MaxBytes = 4000 }))
	require.NoError(t, s.Check(t.Context()))
	l := newLimiter(t, s, traffic.Spacious)
	take := func(key int) bool {
		_, err := l.Take(t.Context(), fmt.Sprint(key), 1)
		if err != nil {
			require.ErrorContains(t, err, "maximum bytes exceeded")
			require.NotErrorIs(t, err, weir.ErrRequest)
		}
		return err == nil
	}
	keys := 0
	for take(keys) {
		keys++
		require.Less(t, keys, 100)
	}
	require.Positive(t, keys)
	granted := keys
	for ; take(granted % keys); granted++ {
		require.Less(t, granted, 2000)
	}
	counted := 0
	for i := range keys {
		n := traffic.Counted(t, l, fmt.Sprint(i))
		assert.Positive(t, n)
		counted += n
	}
	assert.Equal(t, granted, counted)
}
