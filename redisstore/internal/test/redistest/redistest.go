// Package redistest runs real Redis servers for tests, and breaks them on purpose. Only tests
// import it: no program links it, and it knows nothing of weir. Its own tests run it on real
// servers.
//
// [Single] starts one server, [Cluster] three masters with a replica each, [Sentinel] a master with
// two replicas and three sentinels that watch it. Each server is a process of its own, on a free
// loopback port, with its files in the test's temporary directory. It can be killed, restarted on
// the same port and files, paused and resumed. A [Proxy] stands before a server and breaks the
// network: it is the one of storetest/faultproxy, and knows commands.
//
// All are killed when the test ends, without a shutdown, because nothing of them is kept. On Linux
// they also die with the test's process, however it ends. If a test fails, the last lines of their
// logs are shown.
//
// They need redis-server 7.0 or later in PATH. Where it is missing, tests are skipped. With CI=true
// in the environment they fail, so that CI can't forget them.
//
// The methods that start and stop servers must be called by the test's goroutine, as t.Fatal must.
// Those that only read (Addr, Do) can be called by any goroutine.
package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// AppendOnly is the configuration of a server that keeps what it answered when it is killed.
const AppendOnly = "appendonly yes\nappendfsync always"

// Single starts one server that keeps nothing when it is killed, unless lines of configuration
// (as in redis.conf) say so.
func Single(tb testing.TB, config ...string) *Server {
	tb.Helper()
	return start(tb, &Server{tb: tb, name: "redis", config: config})[0]
}

// executable is the path of redis-server. Without one the test ends.
func executable(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err == nil && stop == nil {
		err = fmt.Errorf("this system has no signal that stops a process")
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		tb.Fatalf("with CI=true no test may be skipped: install redis-server (%v)", err)
	default:
		tb.Skipf("needs a real Redis: install redis-server (%v)", err)
	}
	return ""
}
