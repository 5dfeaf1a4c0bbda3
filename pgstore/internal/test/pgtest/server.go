package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weir-go/weir/internal/testport"
)

// patience is how long the harness waits for what a server does by itself.
const patience = time.Minute

// A Server is one PostgreSQL server. Its methods are for one goroutine, except Addr and URL.
type Server struct {
	programs string
	dir      string // has its data and its log
	as       *account
	port     testport.Port
	process  *os.Process
	ended    chan struct{} // closed when process has ended
}

// newServer makes an empty database and starts its server, on the first port on which it can
// listen.
func newServer(programs string) (s *Server, err error) {
	s = &Server{programs: programs}
	defer func() {
		if err != nil {
			err = fmt.Errorf("pgtest: %w", err)
			s.end()
		}
	}()
	if s.as, err = findAccount(); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		return s, err
	}
	if err := s.as.own(s.dir); err != nil {
		return s, err
	}
	initdb, ended, err := s.run("initdb", "-D", s.data(), "-U", "postgres", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale=C", "--wal-segsize=1") // to write 16 MB would take longer than all else
	if err != nil {
		return s, err
	}
	if <-ended; !initdb.ProcessState.Success() {
		return s, fmt.Errorf("initdb failed:\n%s", s.log())
	}
	for try := 1; ; try++ {
		if s.port, err = testport.Claim(); err != nil {
			return s, err
		}
		if err = s.start(); err == nil || try == 5 || !errors.Is(err, errEnded) {
			return s, err
		}
		_ = s.port.Close() // another one is claimed
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run starts a program, and returns a channel that is closed when it has ended.
func (s *Server) run(name string, args ...string) (*exec.Cmd, chan struct{}, error) {
	log, err := os.OpenFile(s.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if err := s.as.start(cmd); err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, or its log says why it ended
		close(ended)
	}()
	return cmd, ended, nil
}

// errEnded means that a server ended before it answered.
var errEnded = errors.New("it ended")

// start starts the server, and returns when it answers.
func (s *Server) start() error {
	cmd, ended, err := s.run("postgres", "-D", s.data(), "-p", fmt.Sprint(s.port.Number),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=300",
		"-c", "fsync=off", "-c", "full_page_writes=off", // the system does not crash
		"-c", "max_wal_size=1GB")
	if err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, ended
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = s.ready(); err == nil {
			err = s.answers()
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%w, log:\n%s", errEnded, s.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("no answer in %v (%w), log:\n%s", patience, err, s.log())
}

// ready returns nil if this server says that it is ready. To look into its file costs it nothing,
// while every attempt to connect is a process.
func (s *Server) ready() error {
	file, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	if lines := strings.Split(string(file), "\n"); lines[0] != fmt.Sprint(s.process.Pid) || !strings.HasPrefix(lines[min(7, len(lines)-1)], "ready") {
		return fmt.Errorf("its file says %q", file)
	}
	return nil
}

// answers returns nil if this server answers, and not a stranger on its port.
func (s *Server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL(s.Addr()))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var dir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.data() {
		return fmt.Errorf("another server answers, with its data in %s", dir)
	}
	return nil
}

// Addr returns the host and port of the server. They stay the same when it is restarted.
func (s *Server) Addr() string { return s.port.Addr() }

// URL returns a connection string for the server, or for a proxy at addr in front of it.
func (s *Server) URL(addr string) string {
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
}

// Kill ends the server as a crash does, by SIGKILL.
func (s *Server) Kill() {
	_ = s.process.Kill() // an error means that it has ended
	<-s.ended
}

// Restart starts the server again after Kill, on the same port and with the files that it left.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); { // until the killed server's children are gone
		if err = s.start(); !errors.Is(err, errEnded) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		tb.Fatalf("pgtest: restarted: %v", err)
	}
}

// end kills the server and removes its files.
func (s *Server) end() {
	if s.process != nil {
		s.Kill()
	}
	_ = s.port.Close() // it is a socket that nobody reads
	for range 100 {    // the server's children may still write
		if os.RemoveAll(s.dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// log returns the last lines of the log.
func (s *Server) log() []byte {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(all[max(len(all)-20, 0):], nil)
}
