package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs. client is these tests, which run main if isProgram is set. To link another binary would
// take longer.
var client, server string

const (
	isProgram = "HTTPCLIENT_TESTS_ARE_THE_PROGRAM"
	copyTo    = "HTTPCLIENT_TESTS_COPY_A_PROGRAM_TO"
)

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main() // which exits
	}
	if path := os.Getenv(copyTo); path != "" {
		program, err := os.ReadFile(os.Args[1])
		must(err)
		must(os.WriteFile(path, program, 0o700))
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "httpclient")
	must(err)
	server = filepath.Join(dir, "httpserver.exe")
	client, err = os.Executable()
	must(err)
	// go run keeps what it has linked, and go build does not. These tests are what it runs the server with.
	build := exec.Command("go", "run", "-ldflags=-s -w", "-exec", strconv.Quote(client), "../httpserver")
	build.Env = append(os.Environ(), copyTo+"="+server)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	must(build.Run())
	must(os.Setenv(isProgram, "true")) // for those that the tests start
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// startServer starts examples/httpserver on a free port. It returns its URL, and a function that
// stops it and returns its log of denials.
func startServer(t *testing.T) (url string, stop func() string) {
	t.Helper()
	cmd := exec.Command(server, "-addr", "127.0.0.1:0", "-log", "warn")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString(',')
	require.NoError(t, err)
	stop = func() string {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return log.String()
	}
	t.Cleanup(func() { stop() })
	return strings.TrimSuffix(strings.TrimPrefix(line, "listening on "), ","), stop
}

// items are the URLs of n pages of the server, which count as two items each.
func items(url string, n int) (urls []string) {
	o, _ := parse(nil, nil)
	for _, u := range o.urls[:n] {
		urls = append(urls, strings.Replace(u, "http://127.0.0.1:8080", url, 1))
	}
	return urls
}

func runBinary(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.Command(client, args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// At five requests a second the server has nothing to refuse.
func TestFetch(t *testing.T) {
	t.Parallel()
	url, stop := startServer(t)
	start := time.Now()
	stdout, stderr, code := runBinary(t, items(url, 6)...)
	assert.GreaterOrEqual(t, time.Since(start), 1000*ms)
	assert.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^ *\d+\.\d\ds 200    20 bytes http://127\.0\.0\.1:\d+/api/items\?n=2&from=0$`, stdout)
	assert.Regexp(t, `\n6 of 6 pages in \d+\.\d\d s, by 6 requests\n$`, stdout)
	assert.Empty(t, stop())
}

// At 50 a second it refuses some, and those are fetched when it says so.
func TestFetchTooFast(t *testing.T) {
	t.Parallel()
	url, stop := startServer(t)
	start := time.Now()
	stdout, stderr, code := runBinary(t, append([]string{"-rate", "50"}, items(url, 15)...)...)
	assert.GreaterOrEqual(t, time.Since(start), time.Second) // 20 items at once, and 10 more in a second
	assert.Zero(t, code, stderr)
	summary := regexp.MustCompile(`\n15 of 15 pages in \d+\.\d\d s, by (\d+) requests\n$`).FindStringSubmatch(stdout)
	require.Len(t, summary, 2, stdout)
	assert.Equal(t, strconv.Itoa(15+strings.Count(stop(), "msg=denied limit=api")), summary[1])
}

func TestFailures(t *testing.T) {
	t.Parallel()
	url, stop := startServer(t)
	stdout, _, code := runBinary(t, url+"/health", url+"/nothing", url+"/api/items?n=21")
	assert.Equal(t, 1, code)
	for _, line := range []string{`200 +3 bytes \S+/health`, `404 +19 bytes \S+/nothing`, `429 .*n=21`, `1 of 3 pages in .*, by 3 requests`} {
		assert.Regexp(t, line, stdout)
	}
	stop()
	stdout, _, code = runBinary(t, url+"/health")
	assert.Equal(t, 1, code)
	assert.Contains(t, stdout, `Get "`+url+`/health": dial tcp`)
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can't be sent a signal here")
	}
	t.Parallel()
	url, _ := startServer(t)
	cmd := exec.Command(client, slices.Repeat([]string{url + "/health"}, 1000)...)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewReader(pipe)
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var rest bytes.Buffer
	_, err = rest.ReadFrom(out)
	require.NoError(t, err)
	assert.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Contains(t, rest.String(), "context canceled")
	assert.Regexp(t, `\n\d+ of 1000 pages in `, rest.String())
}

// The error of a bad flag names the given value and what is allowed.
func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, given, allowed string }{
		{"-rate 0", `"0" for flag -rate`, "a whole number, at least 1"},
		{"-rate 2.5", `"2.5" for flag -rate`, "a whole number, at least 1"},
		{"-workers -1", `"-1" for flag -workers`, "a whole number, at least 1"},
		{"-timeout 10", `"10" for flag -timeout`, "a time above 0, such as 30s"},
		{"-timeout 0s", `"0s" for flag -timeout`, "a time above 0, such as 30s"},
		{"localhost:8080", `"localhost:8080"`, "a URL such as http://"},
		{"ftp://127.0.0.1/", `"ftp://127.0.0.1/"`, "a URL such as http://"},
		{"http:///health", `"http:///health"`, "a URL such as http://"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := runBinary(t, strings.Fields(c.args)...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.given)
			assert.Contains(t, stderr, "must be "+c.allowed)
		})
	}
}

func TestHelp(t *testing.T) {
	stdout, stderr, code := runBinary(t, "-h")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, name := range []string{"-rate n", "-workers n", "-timeout time"} {
		assert.Contains(t, stdout, name)
	}
}
