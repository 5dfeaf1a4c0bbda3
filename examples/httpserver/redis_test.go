package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/test/tied"
)

// A redisServer is a process of redis-server, or the place of one.
type redisServer struct {
	addr string
	dir  string
	cmd  *exec.Cmd
}

// newRedis returns a redisServer that does not run yet, at a free port.
func newRedis(t *testing.T) *redisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "with CI=true no test may be skipped: install redis-server")
		t.Skip("needs a real Redis: install redis-server")
	}
	r := &redisServer{addr: freeAddr(t), dir: t.TempDir()}
	t.Cleanup(r.kill)
	return r
}

// freeAddr returns an address on which nobody listens. Its port is below those that systems hand out
// for port 0 and for connections, so that no other test gets it meanwhile.
func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		addr := fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
}

// start returns when the server answers.
func (r *redisServer) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(r.addr)
	r.cmd = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "")
	require.NoError(t, tied.Start(r.cmd))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		conn, err := net.Dial("tcp", r.addr)
		require.NoError(c, err)
		defer conn.Close()
		_, err = fmt.Fprint(conn, "PING\r\n")
		require.NoError(c, err)
		reply, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(c, err)
		require.Equal(c, "+PONG\r\n", reply)
	}, time.Minute, 10*time.Millisecond)
}

func (r *redisServer) kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait() // killed
		r.cmd = nil
	}
}

// Servers that use one Redis share each limit. While it is gone each limits by itself, and says so.
func TestRedis(t *testing.T) {
	t.Parallel()
	redis := newRedis(t)
	redis.start(t)
	a, b := start(t, "-redis", redis.addr, "-trust", "127.0.0.0/8"), start(t, "-redis", redis.addr, "-trust", "127.0.0.0/8")
	shared := func(client string) bool {
		var got []string // statuses, and how many are left
		for _, s := range []*server{a, b, a, b, a, a, b} {
			answer := s.login(t, "ada", "lovelace", "X-Forwarded-For", client)
			left, _ := onlyLimit(t, answer, "login")
			got = append(got, fmt.Sprint(answer.status, left))
		}
		return slices.Equal(got, []string{"200 4", "200 3", "200 2", "200 1", "200 0", "429 0", "429 0"})
	}
	for n := 1; ; n++ {
		client := fmt.Sprintf("198.18.%d.%d", n/100, n%100)
		if shared(client) {
			break
		}
		require.Less(t, n, 10_000, "Redis was never fast enough, also when it was asked again after an outage")
		require.Eventually(t, func() bool { // else the limit is exceeded
			return strings.Contains(a.out.String()+b.out.String(), "client="+client+" cost=1 remaining=4 degraded=true")
		}, time.Minute, 10*time.Millisecond, "Redis answered, and the limit was not shared")
	}

	redis.kill()
	alone := []string{"X-Forwarded-For", "198.51.100.1"}
	for range 5 {
		require.Equal(t, http.StatusOK, a.login(t, "ada", "lovelace", alone...).status)
	}
	refused(t, a.login(t, "ada", "lovelace", alone...), "login")
	a.out.await(t, `level=ERROR msg="redis fails, limits are this server's own" err=`)
	a.out.await(t, "msg=allowed limit=login client=198.51.100.1 cost=1 remaining=0 degraded=true")

	redis.start(t)
	const again = "redis answers again, limits are shared"
	assert.Eventually(t, func() bool {
		a.get(t, "/api/items")
		return strings.Contains(a.out.String(), again)
	}, time.Minute, 50*time.Millisecond)
	assert.Eventually(t, func() bool { // by its own count it would refuse
		return a.login(t, "ada", "lovelace", alone...).status == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond, "this Redis keeps nothing when it is killed")
}

// A server starts without the Redis that it is to use.
func TestRedisIsNotThere(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1"
	_, err := net.Dial("tcp", nobody)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	s := start(t, "-redis", nobody)
	for range 5 {
		require.Equal(t, http.StatusOK, s.login(t, "ada", "lovelace").status)
	}
	refused(t, s.login(t, "ada", "lovelace"), "login")
}
