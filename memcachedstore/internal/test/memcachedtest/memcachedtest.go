// Package memcachedtest runs real memcached servers for tests, and kills them on purpose. Only
// tests import it.
//
// [Shared] is one server for all tests of a package, which [Main] ends. [Start] starts a server for
// one test, which may kill and restart it. Each server listens on a free loopback port. On Linux it
// also dies with the test's process, however that ends.
//
// Where memcached is missing, tests are skipped. With CI=true in the environment they fail, so that
// CI can't forget them.
package memcachedtest

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
)

var shared struct {
	sync.Mutex
	server *Server
}

// Shared returns the server that the tests of a package share. The first call starts it.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	path := program(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := newServer(path, "-m", "1024") // it takes memory when it needs it
		if err != nil {
			tb.Fatal(err)
		}
		shared.server = s
	}
	return shared.server
}

// Start starts a server for one test, with flags of memcached.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	s, err := newServer(program(tb), flags...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.end)
	return s
}

// Main is for TestMain. It runs the tests, and ends the server of [Shared].
func Main(m *testing.M) {
	defer func() {
		if shared.server != nil {
			shared.server.end()
		}
	}()
	runs.Main(m)
}

// program returns the path of memcached. Without it the test ends.
func program(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("memcached")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatalf("with CI=true no test may be skipped: install memcached (%v)", err)
	default:
		tb.Skipf("needs a real memcached: install memcached (%v)", err)
	}
	return path
}
