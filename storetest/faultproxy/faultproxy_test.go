package faultproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/storetest/faultproxy"
)

func TestProxyPassesOn(t *testing.T) {
	for name, split := range map[string]bufio.SplitFunc{"lines": lines, "at once": nil} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			p := faultproxy.New(t, s.addr(), split)
			assert.Equal(t, s.addr(), p.Target())
			c := dial(t, p.Addr())
			c.gets(t, "1", "a")
			c.gets(t, "2", "a")
			long := strings.Repeat("long", 1<<18)
			c.gets(t, "1", long)
			require.Equal(t, 1, s.count(long))

			_, err := fmt.Fprint(c, "b\nb\n")
			require.NoError(t, err)
			require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
			replies, err := io.ReadAll(c.replies)
			require.NoError(t, err, "a client that has sent everything still gets its replies")
			require.Equal(t, "1\n2\n", string(replies))
		})
	}
}

func TestLoseReplies(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	p.LoseReplies(2, func(request []byte) bool { return request[0] == 'a' })
	dial(t, p.Addr()).gets(t, "1", "b")
	for i := range 2 {
		_, err := dial(t, p.Addr()).ask("a")
		require.Error(t, err)
		require.Equal(t, i+1, s.count("a"), "it is executed before the client's end is cut")
	}
	require.Equal(t, 2, p.Lost())
	dial(t, p.Addr()).gets(t, "3", "a")

	p.LoseReplies(1, nil)
	_, err := dial(t, p.Addr()).ask("b")
	require.Error(t, err, "a nil match is for all requests")
	require.Equal(t, 3, p.Lost())

	p.LoseReplies(1, nil)
	p.LoseReplies(0, nil)
	dial(t, p.Addr()).gets(t, "3", "b")
}

// Of three requests that are sent at once, the reply to the second is lost.
func TestLoseReplies_Pipeline(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	p.LoseReplies(1, func(request []byte) bool { return string(request) == "b\n" })
	c := dial(t, p.Addr())
	_, err := fmt.Fprint(c, "a\nb\nc\n")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, c)
	require.Error(t, err)
	assert.Equal(t, []int{1, 1, 0}, []int{s.count("a"), s.count("b"), s.count("c")}, "those up to the lost one are executed")
}

func TestStall(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	old := dial(t, p.Addr())
	old.gets(t, "1", "a")
	p.Stall()
	p.Stall() // is one
	conns := []*client{old, dial(t, p.Addr())}
	for _, c := range conns {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err := c.ask("a")
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout(), "%v", err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	}
	require.Equal(t, 1, s.count("a"))
	p.Forward()
	for _, c := range conns {
		_, err := c.replies.ReadString('\n')
		require.NoError(t, err, "what was sent meanwhile arrives")
	}
	require.Equal(t, 3, s.count("a"))
}

func TestRefuse(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	addr := p.Addr()
	c := dial(t, addr)
	c.gets(t, "1", "a")
	p.Refuse()
	p.Refuse() // is one
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err, "it is cut, before anything is sent")
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
	p.Forward()
	require.Equal(t, addr, p.Addr())
	dial(t, addr).gets(t, "2", "a")
}

func TestDelay(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	c := dial(t, p.Addr())
	const delay = 30 * time.Millisecond
	p.Delay(delay)
	began := time.Now()
	c.gets(t, "1", "a")
	require.GreaterOrEqual(t, time.Since(began), delay)
	p.Delay(time.Hour)
	p.Forward()
	c.gets(t, "2", "a")

	p.Delay(time.Hour)
	go func() { // when the reply is on its way
		for s.count("a") < 3 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(delay)
		p.Forward()
	}()
	c.gets(t, "3", "a")
}

func TestHang(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	hanging, other := dial(t, p.Addr()), dial(t, p.Addr())
	p.Hang(1)
	_, err := fmt.Fprintln(hanging, "a")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.Hung() == 1 }, patience, time.Millisecond)
	other.gets(t, "1", "b")
	p.Forward()
	_, err = fmt.Fprintln(hanging, "a")
	require.NoError(t, err)
	other.gets(t, "2", "b")
	require.NoError(t, hanging.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = hanging.Read(make([]byte, 1))
	require.Error(t, err)
	require.Zero(t, s.count("a"), "a connection that hangs does not come back")

	p.Hang(1)
	p.Forward()
	other.gets(t, "3", "b")
	require.Equal(t, 1, p.Hung())
}

func TestServerThatIsDown(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	s.Close()
	_, err := dial(t, p.Addr()).ask("a")
	require.Error(t, err)
}

// A failing is a test that remembers that it has failed.
type failing struct {
	*testing.T
	mu       sync.Mutex
	failures []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func TestSplitThatFailsIsReported(t *testing.T) {
	f := &failing{T: t}
	p := faultproxy.New(f, newServer(t).addr(), func(data []byte, atEOF bool) (int, []byte, error) {
		if len(data) > 0 && data[0] == '?' {
			return 0, nil, errors.New("a question")
		}
		return lines(data, atEOF)
	})
	c := dial(t, p.Addr())
	c.gets(t, "1", "a")
	_, err := c.ask("?")
	require.Error(t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, []string{"faultproxy: no request: a question"}, f.failures)
}

// Faults come at random while clients ask. No request is executed twice, and each reply belongs to
// a request that was executed.
func TestFaultsInTraffic(t *testing.T) {
	s := newServer(t)
	p := faultproxy.New(t, s.addr(), lines)
	done := make(chan struct{})
	var faults, clients sync.WaitGroup
	faults.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-done:
				return
			default:
			}
			switch random.IntN(5) {
			case 0:
				p.Stall()
			case 1:
				p.Refuse()
			case 2:
				p.LoseReplies(1+random.IntN(3), nil)
			case 3:
				p.Delay(time.Duration(random.IntN(1000)) * time.Microsecond)
			}
			time.Sleep(time.Duration(random.IntN(500)) * time.Microsecond)
			p.Forward()
		}
	})
	for i := range 8 {
		clients.Go(func() {
			var conn net.Conn
			for j := range 100 {
				if conn == nil {
					c, err := net.Dial("tcp", p.Addr())
					if err != nil {
						continue
					}
					conn = c
				}
				line := fmt.Sprint(i, " ", j)
				_ = conn.SetDeadline(time.Now().Add(patience))
				c := client{conn, bufio.NewReader(conn)}
				reply, err := c.ask(line)
				if err != nil {
					conn.Close()
					conn = nil
					assert.LessOrEqual(t, s.count(line), 1, "%s", line)
					continue
				}
				assert.Equal(t, "1", reply, "%s", line)
			}
			if conn != nil {
				conn.Close()
			}
		})
	}
	clients.Wait()
	close(done)
	faults.Wait()
}
