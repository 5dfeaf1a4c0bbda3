package memcachedtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/test/tied"
	"github.com/weir-go/weir/internal/testport"
)

// patience is how long the harness waits for what a server does by itself.
const patience = time.Minute

// A Server is one memcached server. Its methods are for one goroutine, except Addr, Stats and Left.
type Server struct {
	path    string
	flags   []string
	port    testport.Port
	process *os.Process
	ended   chan struct{} // closed when process has ended
	log     log
}

// newServer starts a server on the first port on which it can listen.
func newServer(path string, flags ...string) (s *Server, err error) {
	s = &Server{path: path, flags: flags}
	for try := 1; ; try++ {
		if s.port, err = testport.Claim(); err != nil {
			break
		}
		if err = s.start(); err == nil {
			return s, nil
		}
		s.end()
		if try == 5 || !errors.Is(err, errEnded) {
			break
		}
	}
	return nil, fmt.Errorf("memcachedtest: %w", err)
}

// errEnded means that a server ended before it answered.
var errEnded = errors.New("it ended")

// start starts the server, and returns when it answers.
func (s *Server) start() error {
	cmd := exec.Command(s.path, append([]string{"-l", "127.0.0.1", "-p", fmt.Sprint(s.port.Number), "-U", "0"}, s.flags...)...)
	if os.Geteuid() == 0 { // memcached runs as root only if a flag says so
		cmd.Args = append(cmd.Args, "-u", "root")
	}
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if err := tied.Start(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, or its log says why it ended
		close(ended)
	}()
	s.process, s.ended = cmd.Process, ended
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = s.answers(); err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%w, log:\n%s", errEnded, s.log.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("no answer in %v (%w), log:\n%s", patience, err, s.log.String())
}

// answers returns nil if this server answers, and not a stranger on its port.
func (s *Server) answers() error {
	stats, err := s.stats("stats", 5*time.Second)
	if err != nil {
		return err
	}
	if pid := fmt.Sprint(s.process.Pid); stats["pid"] != pid {
		return fmt.Errorf("the process %s answers, not %s", stats["pid"], pid)
	}
	return nil
}

// Addr returns the host and port of the server. They stay the same when it is restarted.
func (s *Server) Addr() string { return s.port.Addr() }

// Kill ends the server as a crash does, by SIGKILL.
func (s *Server) Kill() {
	_ = s.process.Kill() // an error means that it has ended
	<-s.ended
}

// Restart starts the server again after Kill, on the same port. It is empty.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("memcachedtest: restarted: %v", err)
	}
}

// end kills the server and gives its port back.
func (s *Server) end() {
	if s.process != nil {
		s.Kill()
	}
	_ = s.port.Close() // it is a socket that nobody reads
}

// A log is what a server has written.
type log struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes.String()
}
