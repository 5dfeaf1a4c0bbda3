package iolimit_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/iolimit"
)

// A deaf connection does not notice a deadline that is moved at once, as TCP does not.
type deaf struct{ net.Conn }

func (deaf) SetDeadline(time.Time) error { return nil }

// A deadline that was moved before a wait begins does not end it.
func TestConnDeadlineMovedBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		l := []iolimit.Limit{limitOf(weir.TokenBucket{Limit: 512, Per: time.Second})}
		c := iolimit.NewConn(deaf{near}, l, l)
		var wg sync.WaitGroup
		wg.Go(func() {
			n, err := c.Read(make([]byte, 10))
			assert.NoError(t, err)
			assert.Equal(t, 1, n)
		})
		wg.Go(func() {
			n, err := c.Write(make([]byte, 1024))
			assert.NoError(t, err)
			assert.Equal(t, 1024, n)
		})
		synctest.Wait() // for the far end
		require.NoError(t, c.SetDeadline(time.Now().Add(-time.Second)))
		require.NoError(t, c.SetDeadline(time.Time{}))
		_, err := io.ReadFull(far, make([]byte, 512))
		require.NoError(t, err)
		_, err = far.Write([]byte("a"))
		require.NoError(t, err)
		_, err = io.ReadFull(far, make([]byte, 512))
		require.NoError(t, err)
		wg.Wait()
	})
}

// slowToSet is a connection whose first SetWriteDeadline takes long. It keeps the last one.
type slowToSet struct {
	net.Conn
	entered, leave chan struct{}
	later          atomic.Bool
	mu             sync.Mutex
	at             time.Time // guarded by mu
}

func (c *slowToSet) SetWriteDeadline(t time.Time) error {
	if !c.later.Swap(true) {
		close(c.entered)
		<-c.leave
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
	return nil
}

// Of two deadlines that are set at the same time, the Conn and the connection below keep the same.
func TestConnDeadlinesAtTheSameTime(t *testing.T) {
	near, _ := pipe(t)
	below := &slowToSet{Conn: near, entered: make(chan struct{}), leave: make(chan struct{})}
	l := limitOf(weir.TokenBucket{Limit: 1, Per: time.Hour})
	require.True(t, l.Limiter.Allow(l.Key))
	c := iolimit.NewConn(below, nil, []iolimit.Limit{l})

	var calls sync.WaitGroup
	calls.Go(func() { assert.NoError(t, c.SetWriteDeadline(time.Unix(1, 0))) })
	<-below.entered
	_, err := c.Write([]byte("a")) // may see the deadline before SetWriteDeadline has returned
	timedOut(t, err)
	second := make(chan struct{})
	calls.Go(func() {
		defer close(second)
		assert.NoError(t, c.SetWriteDeadline(time.Time{}))
	})
	select {
	case <-second:
	case <-time.After(10 * time.Millisecond):
	}
	close(below.leave)
	calls.Wait()
	assert.Zero(t, below.at)
}
