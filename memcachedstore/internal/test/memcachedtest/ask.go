package memcachedtest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// ask sends a command on a connection of its own. The answer is the statistics, and a last line
// that ends it.
func (s *Server) ask(command string, within time.Duration) (stats []string, last string, err error) {
	conn, err := net.DialTimeout("tcp4", s.Addr(), within)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		stat, ok := strings.CutPrefix(lines.Text(), "STAT ")
		if !ok {
			return stats, lines.Text(), nil
		}
		stats = append(stats, stat)
	}
	return nil, "", fmt.Errorf("the answer has no end (%w)", lines.Err())
}

func (s *Server) stats(command string, within time.Duration) (map[string]string, error) {
	lines, last, err := s.ask(command, within)
	if err != nil {
		return nil, err
	}
	if last != "END" {
		return nil, fmt.Errorf("%s: the answer is %q", command, last)
	}
	all := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		all[name] = value
	}
	return all, nil
}

// Stats returns the answer to a command: "stats", or "stats slabs".
func (s *Server) Stats(tb testing.TB, command string) map[string]string {
	tb.Helper()
	all, err := s.stats(command, patience)
	if err != nil {
		tb.Fatalf("memcachedtest: %v", err)
	}
	return all
}

// Left returns how long the server keeps the item of a key, in whole seconds, or weir.Never.
func (s *Server) Left(tb testing.TB, key string) time.Duration {
	tb.Helper()
	_, answer, err := s.ask("mg "+key+" t", patience)
	var seconds int64
	if err == nil {
		_, err = fmt.Sscanf(answer, "HD t%d", &seconds)
	}
	switch {
	case err != nil:
		tb.Fatalf("memcachedtest: the item %q: %q, %v", key, answer, err)
	case seconds == -1:
		return weir.Never
	}
	return time.Duration(seconds) * time.Second
}
