package iolimit_test

import (
	"io"
	"net"
	"sync"
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
