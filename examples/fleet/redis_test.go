package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/test/tied"
)

// startRedis starts a redis-server of the test's own.
func startRedis(t *testing.T) (socket string) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "with CI=true no test may be skipped: install redis-server")
		t.Skip("needs a real Redis: install redis-server")
	}
	dir, err := os.MkdirTemp("", "fleet") // short, as the name of a socket must be
	require.NoError(t, err)
	socket = filepath.Join(dir, "redis")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
	require.NoError(t, tied.Start(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		_ = os.RemoveAll(dir)
	})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		conn, err := net.Dial("unix", socket)
		require.NoError(c, err)
		conn.Close()
	}, time.Minute, 10*time.Millisecond)
	client := redis.NewClient(&redis.Options{Addr: socket})
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()).Err())
	return socket
}

// The ways with a real Redis. Short runs try only lease: in the other ways, Redis gets no command
// that it does not get from lease.
func TestRedis(t *testing.T) {
	runs.SkipDear(t)
	o := options{redis: startRedis(t), rate: leastRate, time: leastTime}
	store, stop, err := o.startStore(t.Context())
	require.NoError(t, err)
	for _, w := range ways {
		if runs.Long(false, w.name != "lease") {
			continue
		}
		trial := trial{way: w, policy: o.policy(), store: store, out: io.Discard}
		require.NoError(t, trial.run(t.Context()), w.name)
		checkResult(t, w, trial.result())
	}
	require.NoError(t, stop())
}
