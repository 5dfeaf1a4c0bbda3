package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// binary is the program: these tests, which run main if isProgram is set. To link another binary would
// take as long as the tests do.
var binary string

const isProgram = "HTTPSERVER_TESTS_ARE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main() // which exits
	}
	// Most tests wait for their turn or for a server. The flag -parallel is read later, and wins.
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	var err error
	if binary, err = os.Executable(); err != nil {
		panic(err)
	}
	if err := os.Setenv(isProgram, "true"); err != nil { // for those that the tests start
		panic(err)
	}
	os.Exit(m.Run())
}

// A server is a running httpserver.
type server struct {
	url  string
	args []string // without -addr
	cmd  *exec.Cmd
	out  transcript // all of standard output and standard error
}

// start starts the program on a free port, and waits until it listens.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process can't be told to stop here")
	}
	// A server that does not stop at the end of a test is killed, and that fails the test.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	s := &server{args: args, cmd: exec.CommandContext(ctx, binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...)}
	s.out.grown = make(chan struct{}, 1)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		defer cancel()
		if s.cmd.ProcessState == nil {
			require.NoError(t, s.stop(os.Interrupt))
		}
	})
	s.out.await(t, "curl -i http://")
	_, url, _ := strings.Cut(s.out.String(), "listening on ")
	s.url, _, _ = strings.Cut(url, ",")
	return s
}

// stop sends a signal, and returns how the server exits. The server would wait for five seconds for a
// request on connections that the client has made and never used.
func (s *server) stop(sig os.Signal) error {
	http.DefaultClient.CloseIdleConnections()
	if err := s.cmd.Process.Signal(sig); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, s.out.String())
	}
	return nil
}

// A transcript keeps the first megabyte that is written to it.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text.Len() < 1<<20 {
		b.text.Write(p)
		select {
		case b.grown <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

func (b *transcript) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await waits until text has been written.
func (b *transcript) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(time.Minute)
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.grown:
		case <-late:
			require.FailNow(t, "not written", "%q in %q", text, b.String())
		}
	}
}

// watchMemory returns the resident memory of the server in KiB, read at intervals until ctx ends. There
// is none if the system does not tell it under /proc.
func (s *server) watchMemory(ctx context.Context, every time.Duration) (kib []int) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return kib
		case <-ticks.C:
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
		_, after, _ := strings.Cut(string(status), "VmRSS:")
		var n int
		if _, err := fmt.Sscan(after, &n); err == nil {
			kib = append(kib, n)
		}
	}
}
