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

// slowToSet is a connection whose first call that sets deadlines takes a second.
type slowToSet struct {
	net.Conn
	later       atomic.Bool
	read, write time.Time
}

func (c *slowToSet) set(at time.Time, deadlines ...*time.Time) error {
	if !c.later.Swap(true) {
		time.Sleep(time.Second)
	}
	for _, d := range deadlines {
		*d = at
	}
	return nil
}

func (c *slowToSet) SetDeadline(t time.Time) error      { return c.set(t, &c.read, &c.write) }
func (c *slowToSet) SetReadDeadline(t time.Time) error  { return c.set(t, &c.read) }
func (c *slowToSet) SetWriteDeadline(t time.Time) error { return c.set(t, &c.write) }

// Of two deadlines that are set at the same time, the Conn and the connection below keep the later,
// in each direction.
func TestConnDeadlinesAtTheSameTime(t *testing.T) {
	type call struct {
		set         func(*iolimit.Conn, time.Time) error
		read, write bool // what it sets
	}
	both := call{(*iolimit.Conn).SetDeadline, true, true}
	read := call{(*iolimit.Conn).SetReadDeadline, true, false}
	write := call{(*iolimit.Conn).SetWriteDeadline, false, true}
	for name, calls := range map[string][2]call{
		"both": {both, both}, "read": {read, read}, "write": {write, write},
		"both, then read": {both, read}, "both, then write": {both, write},
		"read, then both": {read, both}, "write, then both": {write, both},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := pipe(t)
				go far.Write([]byte("a"))
				go io.Copy(io.Discard, far)
				below := &slowToSet{Conn: near}
				c := iolimit.NewConn(below, nil, nil)
				past := time.Now().Add(-time.Second)
				first, second := calls[0], calls[1]

				var done sync.WaitGroup
				done.Go(func() { assert.NoError(t, first.set(c, past)) })
				time.Sleep(time.Second / 2)
				done.Go(func() { assert.NoError(t, second.set(c, time.Time{})) })
				done.Wait()

				kept := map[bool]time.Time{true: past}
				_, err := c.Read(make([]byte, 1))
				assert.Equal(t, first.read && !second.read, err != nil)
				assert.Equal(t, kept[err != nil], below.read)
				_, err = c.Write([]byte("a"))
				assert.Equal(t, first.write && !second.write, err != nil)
				assert.Equal(t, kept[err != nil], below.write)
			})
		})
	}
}
