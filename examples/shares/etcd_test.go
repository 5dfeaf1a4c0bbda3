package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/weir-go/weir/internal/test/tied"
)

// startEtcd starts an etcd on free ports, and returns its address.
func startEtcd(t *testing.T) (addr string) {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "with CI=true no test may be skipped: install etcd-server")
		t.Skip("needs a real etcd: install etcd-server")
	}
	addr = freeAddr(t)
	peer := freeAddr(t)
	cmd := exec.Command("etcd", "--data-dir", t.TempDir(), "--log-level", "error",
		// A lease lasts for 1.5 election timeouts at least, and the first election takes one.
		"--heartbeat-interval", "20", "--election-timeout", "200",
		"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer,
		"--initial-cluster", "default=http://"+peer)
	require.NoError(t, tied.Start(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	client := newClient(t, addr)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := client.Get(ctx, "any")
		require.NoError(c, err)
	}, time.Minute, 10*time.Millisecond)
	return addr
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

func newClient(t *testing.T, addr string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
