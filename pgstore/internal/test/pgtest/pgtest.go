// Package pgtest runs real PostgreSQL servers for tests, and kills them on purpose. Only tests
// import it.
//
// [Shared] is one server for all tests of a package, which [Main] ends. Creating its empty database
// takes longer than most tests. A test that kills and restarts the server therefore uses it, too.
// Such a test is not parallel, so parallel tests wait until it has ended. The server listens on a
// free loopback port, and has its files in a temporary directory. If root runs the tests, the
// server runs as the user postgres. On Linux it also dies with the test's process, however that
// ends.
//
// The programs are those of PATH, or of the newest release in the folders of Debian's and Red Hat's
// packages. Where they are missing, tests are skipped. With CI=true in the environment they fail,
// so that CI can't forget them.
package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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
	dir := programs(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := newServer(dir)
		if err != nil {
			tb.Fatal(err)
		}
		shared.server = s
	}
	return shared.server
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

// programs returns the folder of initdb and postgres. Without them the test ends.
func programs(tb testing.TB) string {
	tb.Helper()
	dir, err := find("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatalf("with CI=true no test may be skipped: install postgresql (%v)", err)
	default:
		tb.Skipf("needs a real PostgreSQL: install postgresql (%v)", err)
	}
	return dir
}

// find returns the folder of the programs: one in PATH, or the newest of those that match.
func find(patterns ...string) (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	best, newest := "", -1
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, "postgres"))
		if err != nil {
			return "", err
		}
		for _, path := range found {
			if n := release(path); n > newest {
				best, newest = filepath.Dir(path), n
			}
		}
	}
	if best == "" {
		return "", fmt.Errorf("no postgres in PATH or in %s", strings.Join(patterns, " or "))
	}
	return best, nil
}

var digits = regexp.MustCompile(`\d+`)

// release returns the last number in a path, or 0 if there is none.
func release(path string) int {
	all := digits.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1]) // the largest int if it is too long
	return n
}
