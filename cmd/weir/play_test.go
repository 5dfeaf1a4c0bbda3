package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

func TestPlayQuery(t *testing.T) {
	for _, tt := range []struct {
		policies []string
		want     string
	}{
		{nil, ""},
		{[]string{"10/s"}, "p=10/1s&r=20&t=20s"},
		{[]string{"fixed-window 10/1s", "all(5/1s, 60/1m)"}, "p=fixed-window+10/1s&p=all(5/1s,+60/1m)&r=20&t=20s"},
	} {
		got, err := playQuery(tt.policies)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
}

func TestPlayErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"play", "10/1y"}, "weir: policy at byte 3: \"1y\": must be"},
		{[]string{"play", "-build", "x", "10/1s"}, "weir: -build takes no POLICY"},
		{[]string{"play", "-build", ""}, `weir: -build is "", must be a directory`}, // of an empty variable
		{[]string{"play", "-addr", "nowhere"}, `weir: -addr is "nowhere", must be a host and a port`},
		{[]string{"play", "-addr", ""}, `weir: -addr is "", must be a host and a port`},
		{strings.Fields("play 1/s 1/s 1/s 1/s 1/s 1/s 1/s"), "weir: the number of policies is 7, must be 1 to 6"},
		{[]string{"play", "all(1/s, calendar-window 5/day location=Europe/Berlin)"}, "location=Europe/Berlin) must be in UTC: a browser has no database of time zones"},
	} {
		stdout, stderr, status := weirSays(t, "", tt.args...)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, 2, status)
	}
}

// An address that cannot be had is told before the page is built, which may take long.
func TestPlayAddressComesFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	t.Setenv("PATH", "") // without the go command
	_, stderr, status := weirSays(t, "", "play", "-addr", l.Addr().String())
	assert.Contains(t, stderr, "weir: listen tcp "+l.Addr().String())
	assert.Equal(t, 1, status)
	_, stderr, status = weirSays(t, "", "play", "-addr", "127.0.0.1:0")
	assert.Contains(t, stderr, "weir: play needs the go command in PATH")
	assert.Equal(t, 1, status)
}

// The page is built in a clone that git refuses, such as one of another user.
func TestPlayWithoutGit(t *testing.T) {
	runs.SkipDear(t)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexit 128\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOFLAGS", "-buildvcs=true")
	_, stderr, status := weirSays(t, "", "play", "-build", t.TempDir())
	assert.Empty(t, stderr)
	assert.Zero(t, status)
}

// A user without a home has no cache. The page is then built for once.
func TestPlayWithoutHome(t *testing.T) {
	runs.SkipDear(t)
	for _, name := range []string{"GOENV", "GOCACHE", "GOMODCACHE"} { // the go command needs them, and looks there
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
	file, temporary, dir := filepath.Join(t.TempDir(), "file"), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, file) // no user, not even root, can make a folder in a file
	}
	t.Setenv("TMPDIR", temporary)
	_, stderr, status := weirSays(t, "", "play", "-build", dir)
	assert.Empty(t, stderr)
	assert.Zero(t, status)
	assert.FileExists(t, filepath.Join(dir, "weir.wasm"))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestPlayStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	assert.Equal(t, 1, run(ctx, []string{"weir", "play", "-build", t.TempDir()}, nil, io.Discard, &stderr))
	assert.Equal(t, "weir: stopped before the page was built\n", stderr.String())
}

// With -build the page is written as static files.
func TestPlayBuild(t *testing.T) {
	runs.SkipDear(t)
	dir := filepath.Join(t.TempDir(), "site")
	stdout, stderr, status := weirSays(t, "", "play", "-build", dir)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "The page is in "+dir)
	assert.Zero(t, status)
	for _, name := range []string{"index.html", "app.js", "wasm_exec.js", "weir.wasm", "log.wasm", "worker.js"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
	_, stderr, status = weirSays(t, "", "play", "-build", filepath.Join(dir, "weir.wasm"))
	assert.Contains(t, stderr, "weir.wasm")
	assert.Equal(t, 1, status)
}

var (
	playCommands = regexp.MustCompile(`(?m)go run \./cmd/weir play((?: (?:'[^']*'|[\w/]+))+)`)
	shellWord    = regexp.MustCompile(`'[^']*'|\S+`)
)

// The commands of the documents open the playground.
func TestDocsPlay(t *testing.T) {
	n := 0
	for _, doc := range []string{"docs/choosing.md", "docs/playground.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(doc)))
		require.NoError(t, err)
		for _, command := range playCommands.FindAllStringSubmatch(string(text), -1) {
			var policies []string
			for _, word := range shellWord.FindAllString(command[1], -1) {
				policies = append(policies, strings.Trim(word, "'"))
			}
			_, err := playQuery(policies)
			assert.NoError(t, err, command[0])
			n++
		}
	}
	assert.GreaterOrEqual(t, n, 8)
}
