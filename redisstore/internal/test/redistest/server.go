package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/test/tied"
	"github.com/weir-go/weir/internal/testport"
)

// patience is how long the harness waits for what servers do by themselves: a machine with nothing
// else to do takes a twentieth of it.
const patience = time.Minute

// A Server is one process of redis-server.
type Server struct {
	tb       testing.TB
	name     string   // in messages
	config   []string // lines on top of common
	sentinel bool

	executable string
	dir        string // has its configuration, its log and what it keeps
	port, bus  testport.Port
	process    *os.Process
	ended      chan struct{} // closed when process has ended
	silent     bool          // killed or paused by the test
}

// common is the configuration of all servers. Nothing is kept, forked for, or waited for.
const common = `bind 127.0.0.1
protected-mode no
dir ./
save ""
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-diskless-load on-empty-db
shutdown-timeout 0
`

// errEnded is that a server ended where it should have begun to answer.
var errEnded = errors.New("it ended")

// start starts servers, at once, and returns when all answer.
func start(tb testing.TB, servers ...*Server) []*Server {
	tb.Helper()
	path := executable(tb)
	errs := make(chan error)
	for i, s := range servers {
		s.executable, s.dir = path, filepath.Join(tb.TempDir(), fmt.Sprint(i))
		tb.Cleanup(s.end)
	}
	for _, s := range servers {
		go func() { errs <- s.startAnywhere() }()
	}
	var err error
	for range servers {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return servers
}

// startAnywhere starts s on the first port on which it can listen.
func (s *Server) startAnywhere() error {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := s.configure()
		if err == nil {
			err = s.run()
		}
		if err == nil {
			return nil
		}
		if try == 5 || !errors.Is(err, errEnded) {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.port.Close()
		s.bus.Close()
	}
}

// configure claims the ports of s and writes its configuration.
func (s *Server) configure() (err error) {
	if s.port, err = testport.Claim(); err != nil {
		return err
	}
	if s.bus, err = testport.Claim(); err != nil { // by default it is port + 10000, used or not
		return err
	}
	lines := fmt.Sprintf("%sport %d\n", common, s.port.Number)
	if s.sentinel {
		lines = fmt.Sprintf("bind 127.0.0.1\nprotected-mode no\ndir ./\nport %d\n", s.port.Number)
	}
	lines += strings.Join(s.config, "\n") + "\n"
	lines = strings.ReplaceAll(lines, busPort, fmt.Sprint(s.bus.Number))
	return os.WriteFile(filepath.Join(s.dir, "redis.conf"), []byte(lines), 0o600)
}

// busPort stands in a configuration for the port on which a node of a Cluster talks to the others.
const busPort = "{bus}"

// run starts the process, and returns when it answers.
func (s *Server) run() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.executable, "redis.conf")
	if s.sentinel {
		cmd.Args = append(cmd.Args, "--sentinel")
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := tied.Start(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, or its log says why it ended
		close(ended)
	}()
	s.process, s.ended, s.silent = cmd.Process, ended, false
	return s.awaitAnswer()
}

// awaitAnswer waits until s answers, and not a stranger on its port.
func (s *Server) awaitAnswer() error {
	self := fmt.Sprintf("process_id:%d\r\n", s.process.Pid)
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err = s.Do("PING"); err == nil { // an error while it loads what it kept
			var info any
			if info, err = s.Do("INFO", "server"); err == nil && strings.Contains(fmt.Sprint(info), self) {
				return nil
			}
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%w, log:\n%s", errEnded, s.log(10))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("no answer in %v (%v), log:\n%s", patience, err, s.log(10))
}

// Addr is the host and port of s. It stays the same when s is restarted.
func (s *Server) Addr() string { return s.port.Addr() }

// String is a name for messages.
func (s *Server) String() string { return fmt.Sprintf("%s (%s)", s.name, s.Addr()) }

// Do sends one command on a connection of its own, and waits a few seconds for the reply. That is a
// string, an int64, nil, or a []any of those.
func (s *Server) Do(args ...string) (any, error) { return roundTrip(s.Addr(), 5*time.Second, args) }

// MustDo is Do, and ends the test on an error. It waits for longer: a machine under load is no
// fault.
func (s *Server) MustDo(args ...string) any {
	s.tb.Helper()
	reply, err := roundTrip(s.Addr(), patience, args)
	if err != nil {
		s.tb.Fatalf("%v: %v: %v", s, args, err)
	}
	return reply
}

// Kill ends the process as a crash does, by SIGKILL.
func (s *Server) Kill() {
	s.silent = true
	_ = s.process.Kill() // an error: it has ended
	<-s.ended
}

// Restart starts the process again after Kill, on the same port and with the files that it left.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.run(); err != nil {
		s.tb.Fatalf("%v restarted: %v", s, err)
	}
}

// Pause stops the process, by SIGSTOP: the system still accepts connections and data for it, and
// nothing is answered until Resume.
func (s *Server) Pause() {
	s.tb.Helper()
	s.silent = true
	s.signal(stop)
}

// Resume lets the process go on after Pause, with all that came in.
func (s *Server) Resume() {
	s.tb.Helper()
	s.signal(proceed)
	s.silent = false
}

func (s *Server) signal(sig os.Signal) {
	s.tb.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.tb.Fatalf("%v: %v: %v", s, sig, err)
	}
}

// end kills s, shows its log if the test has failed, and gives its ports back.
func (s *Server) end() {
	if s.process != nil {
		s.Kill()
	}
	if s.tb.Failed() && s.dir != "" {
		s.tb.Logf("%s ended its log with\n%s", s.name, s.log(30))
	}
	s.port.Close()
	s.bus.Close()
}

// log is the last lines of what s logged.
func (s *Server) log(lines int) []byte {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(all[max(len(all)-lines-1, 0):], nil)
}
