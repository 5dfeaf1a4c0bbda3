package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	info, err := os.Stat(shop)
	require.NoError(t, err)
	p := newProgress(io.Discard, []string{shop})
	p.show(1)
	p.clear()
	assert.Equal(t, info.Size(), p.total)

	var b bytes.Buffer
	p.to = &b
	p.read.Store(p.total / 2)
	p.show(1000)
	p.show(2000) // too soon
	assert.Equal(t, "\r███████████████░░░░░░░░░░░░░░░  50%  1,000 requests\x1b[K", b.String())
	p.clear()
	p.clear()
	assert.True(t, strings.HasSuffix(b.String(), "requests\x1b[K\r\x1b[K"))
	assert.Equal(t, "5 requests", newProgress(io.Discard, []string{"-"}).line(5))
}

// The head of a file is read twice, and counts once.
func TestProgressCountsOnce(t *testing.T) {
	p := newProgress(io.Discard, []string{shop})
	logs, err := openable([]string{shop}, nil, p)
	require.NoError(t, err)
	f, err := logs[0].Open()
	require.NoError(t, err)
	defer f.Close()
	_, err = io.CopyN(io.Discard, f, 1000)
	require.NoError(t, err)
	assert.EqualValues(t, 1000, p.read.Load())
	_, err = f.(io.Seeker).Seek(0, io.SeekStart)
	require.NoError(t, err)
	assert.Zero(t, p.read.Load())
	_, err = io.Copy(io.Discard, struct{ io.Reader }{f})
	require.NoError(t, err)
	assert.Equal(t, p.total, p.read.Load())
}
