package redistest

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// increment sends an INCR on a connection of its own.
func increment(p *Proxy) (any, error) {
	return roundTrip(p.Addr(), patience, []string{"INCR", "k"})
}

func TestProxy(t *testing.T) {
	t.Parallel()
	s := Single(t)
	count := func() any { return s.MustDo("GET", "k") }
	p := NewProxy(t, s.Addr())

	v, err := increment(p)
	require.NoError(t, err)
	require.Equal(t, int64(1), v)

	p.LoseReplies(2, func(command []string) bool { return command[0] == "INCR" })
	_, err = roundTrip(p.Addr(), patience, []string{"PING"})
	require.NoError(t, err, "the replies to other commands are not lost")
	for i := range 2 {
		_, err = increment(p)
		require.Error(t, err)
		require.Equal(t, []any{"2", "3"}[i], count(), "it is executed before the client sees the connection cut")
	}
	require.Equal(t, 2, p.Lost())
	v, err = increment(p)
	require.NoError(t, err)
	require.Equal(t, int64(4), v)

	p.Delay(100 * time.Millisecond)
	begun := time.Now()
	_, err = increment(p)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 100*time.Millisecond)

	p.Forward()
	p.Stall()
	_, err = roundTrip(p.Addr(), runs.Long(time.Second, 200*time.Millisecond), []string{"INCR", "k"})
	require.ErrorContains(t, err, "timeout")
	require.Equal(t, "5", count(), "a stall keeps the command")
	p.Forward()
	await(t, "the command to arrive", func() bool { return count() == "6" })

	p.Refuse()
	_, err = increment(p)
	require.ErrorContains(t, err, "refused")
	p.Forward()
	_, err = increment(p)
	require.NoError(t, err)
	require.Equal(t, "7", count())
}

// TestProxyLosesRepliesOfAPipeline sends three commands at once, and loses the reply of the second.
func TestProxyLosesRepliesOfAPipeline(t *testing.T) {
	t.Parallel()
	s := Single(t)
	p := NewProxy(t, s.Addr())
	p.LoseReplies(1, func(command []string) bool { return command[0] == "INCRBY" })
	conn, err := net.Dial("tcp4", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	var b []byte
	for _, args := range [][]string{{"INCR", "a"}, {"INCRBY", "b", "1"}, {"INCR", "c"}} {
		b = appendCommand(b, args)
	}
	_, err = conn.Write(b)
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	for err == nil {
		_, err = r.ReadByte()
	}
	assert.Equal(t, []any{"1", "1", nil}, s.MustDo("MGET", "a", "b", "c"), "those up to the lost one are executed")
}

func TestDialThrough(t *testing.T) {
	t.Parallel()
	before, other := Single(t), Single(t)
	p := NewProxy(t, before.Addr())
	dial := DialThrough(p)
	var conns []net.Conn
	for _, s := range []*Server{before, other} {
		conn, err := dial(t.Context(), "tcp", s.Addr())
		require.NoError(t, err)
		defer conn.Close()
		require.Equal(t, "+PONG\r\n", ping(t, conn))
		conns = append(conns, conn)
	}
	p.Refuse()
	_, err := conns[0].Read(make([]byte, 1))
	require.Error(t, err, "it is cut, before anything is sent")
	require.Equal(t, "+PONG\r\n", ping(t, conns[1]))
}

func ping(t *testing.T, conn net.Conn) string {
	_, err := conn.Write(appendCommand(nil, []string{"PING"}))
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return line
}
