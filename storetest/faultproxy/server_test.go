package faultproxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// A server executes lines: it counts how often it has executed each, and replies with that number.
type server struct {
	net.Listener

	mu       sync.Mutex
	executed map[string]int
}

func newServer(t *testing.T) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{Listener: l, executed: map[string]int{}}
	var running sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					fmt.Fprintln(conn, s.execute(strings.TrimSpace(line)))
				}
			})
		}
	})
	return s
}

func (s *server) execute(line string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed[line]++
	return s.executed[line]
}

func (s *server) count(line string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.executed[line]
}

func (s *server) addr() string { return s.Addr().String() }

// lines is a bufio.SplitFunc whose tokens are lines with their ends.
func lines(data []byte, _ bool) (advance int, token []byte, err error) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 {
		return 0, nil, nil // the end of the line is still to come
	}
	return end, data[:end], nil
}

// A client is one connection.
type client struct {
	net.Conn
	replies *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &client{conn, bufio.NewReader(conn)}
}

// ask sends a line, and returns the reply.
func (c *client) ask(line string) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	reply, err := c.replies.ReadString('\n')
	return strings.TrimSpace(reply), err
}

func (c *client) gets(t *testing.T, want, line string) {
	t.Helper()
	got, err := c.ask(line)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
