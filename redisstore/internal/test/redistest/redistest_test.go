package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

func TestSingle(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	s := Single(t)
	t.Logf("answered after %v", time.Since(begun))
	assert.Equal(t, "OK", s.MustDo("SET", "binary \r\n\x00", "v"))
	assert.Equal(t, "v", s.MustDo("GET", "binary \r\n\x00"))
	assert.Equal(t, int64(1), s.MustDo("DBSIZE"))
	assert.Nil(t, s.MustDo("GET", "other"))
	assert.Equal(t, []any{"a", int64(7), nil, []any{}}, s.MustDo("EVAL", "return {'a', 7, false, {}}", "0"))
	_, err := s.Do("NONSENSE")
	assert.ErrorContains(t, err, "unknown command")
}

func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config string
		want         any
	}{{"forgets", "", nil}, {"keeps", AppendOnly, "v"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Single(t, c.config)
			addr := s.Addr()
			s.MustDo("SET", "k", "v")
			s.Kill()
			_, err := s.Do("GET", "k")
			require.ErrorContains(t, err, "refused")
			s.Restart()
			assert.Equal(t, addr, s.Addr())
			assert.Equal(t, c.want, s.MustDo("GET", "k"))
		})
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := Single(t)
	s.Pause()
	_, err := roundTrip(s.Addr(), time.Second, []string{"INCR", "k"})
	require.ErrorContains(t, err, "timeout")
	s.Resume()
	await(t, "what was sent meanwhile", func() bool { return s.MustDo("GET", "k") == "1" })
}

// The tests of redisstore start clusters and lose masters in the same way. It takes seconds until a
// master is missed.
func TestCluster(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	begun := time.Now()
	nodes := Cluster(t)
	t.Logf("ready after %v", time.Since(begun))
	require.Len(t, nodes.Masters(), 3)
	require.Len(t, nodes.Replicas(), 3)
	lost, replica := nodes[2], nodes[5]
	lost.MustDo("SET", "foo", "v") // slot 12182
	_, err := nodes[0].Do("GET", "foo")
	require.ErrorContains(t, err, "MOVED 12182 "+lost.Addr())
	lost.AwaitReplicated(1)
	lost.Kill()
	require.NotContains(t, nodes.Masters(), lost)
	begun = time.Now()
	nodes.AwaitPromoted(t)
	t.Logf("promoted after %v", time.Since(begun))
	require.Contains(t, nodes.Masters(), replica)
	assert.Equal(t, "v", replica.MustDo("GET", "foo"))
	lost.Restart()
	nodes.AwaitReplicas(t)
	assert.Contains(t, nodes.Replicas(), lost)
}

func TestSentinel(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	begun := time.Now()
	w := Sentinel(t)
	t.Logf("ready after %v", time.Since(begun))
	lost := w.Master()
	require.Same(t, w.Nodes[0], lost)
	lost.MustDo("SET", "k", "v")
	lost.AwaitReplicated(2)
	lost.Kill()
	require.Nil(t, w.Master())
	begun = time.Now()
	promoted := w.AwaitPromoted(lost)
	t.Logf("promoted after %v", time.Since(begun))
	assert.Equal(t, "v", promoted.MustDo("GET", "k"))
	assert.Equal(t, "OK", promoted.MustDo("SET", "k", "w"))
}

func TestTakenPortIsLeft(t *testing.T) {
	t.Parallel()
	first := Single(t)
	s := &Server{tb: t, name: "second", executable: first.executable, dir: t.TempDir(), port: first.port, bus: first.bus}
	lines := fmt.Sprintf("%sport %d\n", common, first.port.Number)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "redis.conf"), []byte(lines), 0o600))
	require.ErrorIs(t, s.run(), errEnded, "the first server's answers are not the second's")
}

// recorder is a test that ends where t.Run would let the whole test fail.
type recorder struct {
	testing.TB
	failed, skipped bool
	said            string
	cleanups        []func()
}

func (r *recorder) Helper()                    {}
func (r *recorder) Failed() bool               { return r.failed }
func (r *recorder) Cleanup(f func())           { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(f string, args ...any) { r.said += fmt.Sprintf(f, args...) + "\n" }

func (r *recorder) Skipf(f string, args ...any) {
	r.Logf(f, args...)
	r.skipped = true
	runtime.Goexit()
}

func (r *recorder) Fatalf(f string, args ...any) {
	r.Logf(f, args...)
	r.failed = true
	runtime.Goexit()
}

// in runs f as a test of its own, and what it left to be cleaned up.
func (r *recorder) in(f func(testing.TB)) {
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		f(r)
	})
	done.Wait()
}

func TestWithoutRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for ci, skips := range map[string]bool{"": true, "true": false} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		r.in(func(tb testing.TB) { Single(tb) })
		assert.Equal(t, skips, r.skipped, "CI=%q", ci)
		assert.Equal(t, !skips, r.failed, "CI=%q", ci)
		assert.Contains(t, r.said, "install redis-server")
	}
}

func TestFailureShowsTheLogAndLeavesNothing(t *testing.T) {
	t.Parallel()
	executable(t)
	r := &recorder{TB: t}
	var s *Server
	r.in(func(tb testing.TB) {
		s = Single(tb)
		s.MustDo("NONSENSE")
	})
	assert.Contains(t, r.said, "unknown command")
	assert.Contains(t, r.said, "Ready to accept connections")
	assert.False(t, running(s.process.Pid))
}

func TestBadConfigurationIsTold(t *testing.T) {
	t.Parallel()
	executable(t)
	r := &recorder{TB: t}
	r.in(func(tb testing.TB) { Single(tb, "nonsense 1") })
	assert.True(t, r.failed)
	assert.Contains(t, r.said, "nonsense")
}

// childEnv makes TestChild a child of TestServersDieWithTheProcess.
const childEnv = "WEIR_REDISTEST_CHILD"

func TestServersDieWithTheProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a process to its parent")
	}
	executable(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid int
	_, err = fmt.Fscanln(out, &pid)
	require.NoError(t, err)
	require.True(t, running(pid))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	await(t, "the server to die", func() bool { return !running(pid) })
}

func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("it is run by TestServersDieWithTheProcess")
	}
	t.Setenv("TMPDIR", dir) // it is killed, and the parent removes what it leaves
	fmt.Println(Single(t).process.Pid)
	time.Sleep(patience)
}

// running reports whether the process runs. A dead one whose parent is not init may stay as a
// zombie.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
