package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplayStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 1, run(ctx, []string{"weir", "replay", "1/1m", shop, "-sweep", "1"}, nil, &stdout, &stderr))
	assert.Equal(t, shop+": 0 lines\n", stdout.String())
	assert.Equal(t, "weir: stopped before the end of the log\n", stderr.String())
}

// Nobody writes to a named pipe: to open it blocks.
func TestReplayStoppedBeforeAWriter(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, exec.Command("mkfifo", fifo).Run())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 1, run(ctx, []string{"weir", "replay", "1/1m", shop, fifo}, nil, &stdout, &stderr))
	assert.Contains(t, stdout.String(), fifo+": 0 lines\n")
	assert.Equal(t, "weir: stopped before the end of the log\n", stderr.String())
	writer, err := os.OpenFile(fifo, os.O_RDWR, 0) // lets the reader go
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}

// What was read before a log ends with an error is printed.
func TestReplayCutOff(t *testing.T) {
	zipped, err := os.ReadFile(shop)
	require.NoError(t, err)
	stdout, stderr, status := weirSays(t, string(zipped[:60_000]), "replay", "60/1m")
	assert.Equal(t, 1, status)
	assert.Regexp(t, `^weir: standard input: after line 9\d\d\d: the file is cut off: unexpected EOF\n$`, stderr)
	assert.Regexp(t, `9,\d\d\d requests of \d\d\d clients`, stdout)
}

// Bytes after the end of a gzip are ignored, and are told.
func TestReplayJunkAfterGzip(t *testing.T) {
	zipped, err := os.ReadFile(shop)
	require.NoError(t, err)
	stdout, stderr, status := weirSays(t, string(zipped)+"junk", "replay", "60/1m")
	assert.Zero(t, status)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "line 2001: no time in brackets, 4 bytes after the end of the gzip ignored\n19,536 requests")
	stdout, _, status = weirSays(t, string(zipped)+"\x00\x00\x00", "replay", "60/1m")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "line 2001: no time in brackets\n19,536 requests")
}

// What there is none of is an empty list in JSON: a program that goes through it need not look first.
func TestReplayEmptyLists(t *testing.T) {
	stdout, _, status := weirSays(t, "", "replay", "100000/1m", shop, "-json")
	assert.Zero(t, status)
	assert.Contains(t, stdout, `"worst": []`)
	assert.Contains(t, stdout, `"networks": []`)
	stdout, _, status = weirSays(t, "", "replay", "1/1m", "-json")
	assert.Equal(t, 1, status)
	assert.Contains(t, stdout, `"requests_over_time": []`)
	assert.NotContains(t, stdout, "null")
}
