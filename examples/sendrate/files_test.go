package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// A file is sent to the end of what another run sent.
func TestOutAppends(t *testing.T) {
	dir := t.TempDir()
	in, out := write(t, dir, "in", "c\nd"), write(t, dir, "out", "a\nb\n")
	left := filepath.Join(dir, "left")
	synctest.Test(t, func(t *testing.T) {
		code := run(t.Context(), []string{"-out", out, "-left", left, in}, nil, io.Discard, io.Discard)
		assert.Equal(t, exitSent, code)
	})
	assert.Equal(t, "a\nb\nc\nd", contents(t, out))
	assert.Empty(t, contents(t, left))
}

// Two names of one file are refused before anything is read or written.
func TestOneFileTwice(t *testing.T) {
	for _, args := range [][]string{
		{"-out", "in", "in"},
		{"-left", "./in", "in"},
		{"-left", "link", "in"},
		{"-out", "in.svg", "-plot", "in.svg", "other"},
		{"-out", "other", "-left", "other", "in"},
		{"-policy", "all", "-plot", "in.svg", "in.svg"},
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		for _, name := range []string{"in", "in.svg", "other"} {
			write(t, dir, name, "a\nb\n")
		}
		require.NoError(t, os.Link("in", "link"))

		var stderr bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), args, nil, io.Discard, &stderr), "%q", args)
		assert.Regexp(t, "^sendrate: .* and .* are one file, must be two\n$", stderr.String())
		for _, name := range []string{"in", "in.svg", "other"} {
			assert.Equal(t, "a\nb\n", contents(t, name), "%q", args)
		}
	}
}

// All files that cannot be opened are reported at once, and nothing is sent.
func TestFilesThatDoNotOpen(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"-out", filepath.Join(missing, "out"), "-left", filepath.Join(missing, "left"),
		"-plot", filepath.Join(missing, "a.svg"), missing,
	}, nil, &stdout, &stderr)
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, stdout.String())
	for _, want := range []string{"open " + missing + ":", "out:", "left:", "a.svg:"} {
		assert.Contains(t, stderr.String(), want)
	}
}

func TestADirectoryIsNoInput(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{t.TempDir()}, nil, io.Discard, &stderr))
	assert.Contains(t, stderr.String(), "is a directory: 0 lines sent, 0 read and left unsent\n")
}

// A report that can't be written is a failure, though every line is sent.
func TestReportThatDoesNotWrite(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{"-lines", "3"}, nil, full{}, &stderr))
	assert.Equal(t, "sendrate: no space left\n", stderr.String())
}
