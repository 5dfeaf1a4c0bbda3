package weir

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type serverStore struct{ MemStore }

func (s *serverStore) Do(ctx context.Context, r Request) (Answer, error) {
	r.read = nil
	return s.MemStore.Do(ctx, r)
}

// A limiter takes what Request.Now told for the instant of the decision. So a DenyCache must not
// call it where the store behind it decides, which may go by a clock of its own.
func TestDenyCache_TellsTheInstantOfItsOwnAnswersOnly(t *testing.T) {
	mock := clock.NewMock()
	l := Must(New(SlidingLog{Limit: 1, Per: time.Second}, WithClock(mock), WithStore(DenyCache(new(serverStore), DenyCacheOptions{}))))
	ask := func() (allowed bool, told int64) {
		var read atomic.Int64
		read.Store(-1)
		a, err := l.store.Do(context.Background(), Request{Plan: l.plans.usual.Load(), Key: "k", Ask: Ask{N: 1}, read: &read})
		require.NoError(t, err)
		return a.Allowed, read.Load()
	}
	allowed, told := ask()
	assert.True(t, allowed)
	assert.EqualValues(t, -1, told)
	allowed, told = ask()
	assert.False(t, allowed, "by the store")
	assert.EqualValues(t, -1, told)
	mock.Add(time.Millisecond)
	allowed, told = ask()
	assert.False(t, allowed, "from memory")
	assert.Equal(t, mock.Now().UnixNano(), told)
	mock.Add(time.Second)
	allowed, told = ask()
	assert.True(t, allowed, "by the store: what is remembered is over")
	assert.EqualValues(t, -1, told)
}
