package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Requests that wait for their turn when the server is told to stop are served.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			const asked = 16
			statuses := make(chan int, asked)
			for range asked {
				go func() {
					// An error is left with status 0: those that are not in the queue yet may be cut off.
					a, _ := ask(http.DefaultClient, http.MethodGet, s.url+"/report", "")
					statuses <- a.status
				}()
			}
			got := map[int]int{}
			next := func() int {
				status := <-statuses
				got[status]++
				return status
			}
			left := asked
			for refused := false; left > 0 && !refused; left-- {
				refused = next() == http.StatusTooManyRequests // the queue is full
			}
			stopped := make(chan error, 1)
			go func() { stopped <- s.stop(sig) }()
			for range left {
				next()
			}
			require.NoError(t, <-stopped)
			served := got[http.StatusOK]
			assert.GreaterOrEqual(t, served, 7)
			assert.Equal(t, served, strings.Count(s.out.String(), "msg=allowed limit=report"))
			assert.Contains(t, s.out.String(), "msg=stopping")
			assert.Contains(t, s.out.String(), "msg=stopped")
			_, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		})
	}
}

// Each decision is in the log, and no API key.
func TestLog(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.get(t, "/api/items?n=15", "X-API-Key", "key-of-ada")
	s.get(t, "/api/items?n=99", "X-API-Key", "key-of-ada")
	s.get(t, "/report")
	for range 6 {
		s.login(t, "ada", "lovelace")
	}
	require.NoError(t, s.stop(os.Interrupt))

	log := s.out.String()
	for _, line := range []string{
		`level=INFO msg=allowed limit=api client=127\.0\.0\.1 cost=15 remaining=5\n`,
		`level=WARN msg=denied limit=api client=127\.0\.0\.1 cost=99 remaining=\d+ retry_after=never\n`,
		`level=INFO msg=allowed limit=report client=127\.0\.0\.1 cost=1 remaining=\d waited=\S+\n`,
		`level=INFO msg=allowed limit=login client=127\.0\.0\.1 cost=1 remaining=0\n`,
		`level=WARN msg=denied limit=login client=127\.0\.0\.1 cost=1 remaining=0 retry_after=\d+\.\d+s\n`,
	} {
		assert.Regexp(t, line, log)
	}
	assert.NotContains(t, log[strings.Index(log, "level="):], "key-of-ada")
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	s := start(t, "-log", "warn")
	for range 6 {
		s.login(t, "ada", "lovelace")
	}
	require.NoError(t, s.stop(os.Interrupt))
	assert.Equal(t, 1, strings.Count(s.out.String(), "level="))
	assert.Contains(t, s.out.String(), "level=WARN msg=denied limit=login")
}

// The commands that the server suggests do what it says.
func TestWelcome(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "with CI=true no test may be skipped: install curl")
		t.Skip("needs curl: install curl")
	}
	s := start(t)
	lines := regexp.MustCompile(`(?m)^curl .*$`).FindAllString(s.out.String(), -1)
	require.Len(t, lines, 4)
	logged := map[string]int{"msg=denied limit=login": 1}
	for i, c := range []struct {
		limit, ok string
		least     int // exactly so many on a machine that is not very slow
	}{
		{"login", "HTTP/1.1 200 OK", 5},
		{"api", "HTTP/1.1 200 OK", 1},
		{"report", "200 after", 7},
		{"", "HTTP/1.1 200 OK", 1},
	} {
		var stderr bytes.Buffer
		cmd := exec.Command("sh", "-c", lines[i])
		cmd.Env = append(os.Environ(), "no_proxy=127.0.0.1") // curl would ask the machine's proxy
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		granted := strings.Count(string(out), c.ok)
		assert.GreaterOrEqual(t, granted, c.least, string(out))
		if c.limit != "" {
			logged["msg=allowed limit="+c.limit] = granted
		}
	}
	require.NoError(t, s.stop(os.Interrupt)) // what it has logged is read to its end
	for line, n := range logged {
		assert.Equal(t, n, strings.Count(s.out.String(), line), line)
	}
}

// The error of a bad flag names the given value and what is allowed.
func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, given, allowed string }{
		{"-addr 8080", `"8080" for flag -addr`, "must be host:port"},
		{"-addr :65536", `":65536" for flag -addr`, "from 0 to 65535"},
		{"-addr localhost:http", `"localhost:http" for flag -addr`, "from 0 to 65535"},
		{"-redis localhost", `"localhost" for flag -redis`, "such as 127.0.0.1:6379"},
		{"-trust 10.0.0.1", `"10.0.0.1" for flag -trust`, "must be prefixes"},
		{"-trust 10.0.0.0/8,", `"10.0.0.0/8," for flag -trust`, "such as 10.0.0.0/8,::1/128"},
		{"-log debug", `"debug" for flag -log`, "must be info, warn or error"},
		{"now", `["now"]`, "must be none"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := runBinary(t, strings.Fields(c.args)...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.given)
			assert.Contains(t, stderr, c.allowed)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runBinary(t, "-h")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, name := range []string{"-addr host:port", "-redis host:port", "-state file", "-trust prefixes", "-log level"} {
		assert.Contains(t, stdout, name)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	s := start(t)
	addr := strings.TrimPrefix(s.url, "http://")
	stdout, stderr, code := runBinary(t, "-addr", addr)
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, addr)
}

func runBinary(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}
