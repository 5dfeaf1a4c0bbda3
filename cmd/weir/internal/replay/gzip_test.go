package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var zipper = gzip.NewWriter(nil) // a new one for each text would allocate a megabyte

func zipped(b []byte) []byte {
	var z bytes.Buffer
	zipper.Reset(&z)
	_, _ = zipper.Write(b)
	_ = zipper.Close()
	return z.Bytes()
}

// A gzip that was cut off, as of a log that is being rotated: all before the cut counts, and the
// other logs do.
func TestCutOffGzip(t *testing.T) {
	log := madeLog(20_000, 100)
	whole := zipped(log)
	r := runOne(t, Config{}, "1/1s", logOf("a.gz", whole))
	require.Equal(t, 20_000, r.Requests)

	r, err := Run(t.Context(), Config{}, policies(t, "1/1s"), []Log{logOf("a.gz", whole[:len(whole)/2]), textLog("b", lineAt(1, "x"))})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	got := r.Files[0].Lines
	assert.ErrorContains(t, err, fmt.Sprintf("a.gz: after line %d: the file is cut off: unexpected EOF", got))
	assert.Equal(t, err.Error(), r.Files[0].Error)
	assert.Greater(t, got, 5000)
	assert.Equal(t, got+1, r.Requests)
	lines := bytes.SplitAfter(log, []byte("\n"))
	assert.Equal(t, got, runOne(t, Config{}, "1/1s", logOf("a", bytes.Join(lines[:got], nil))).Requests)

	_, err = Run(t.Context(), Config{}, nil, []Log{logOf("a.gz", whole[:5])})
	assert.ErrorContains(t, err, "a.gz: gzip: unexpected EOF")
	broken := slices.Clone(whole)
	broken[len(broken)-6] ^= 1 // of the checksum
	_, err = Run(t.Context(), Config{}, nil, []Log{logOf("a.gz", broken)})
	assert.ErrorContains(t, err, "a.gz: after line 20000: gzip: invalid checksum")
}

// What comes after the end of a gzip is ignored, as the command gzip does. Zeros fill up a file, and
// are not told.
func TestAfterTheGzip(t *testing.T) {
	log := zipped([]byte(lineAt(1, "x") + lineAt(2, "x")))
	for after, ignored := range map[string]int64{
		"": 0, "\x00": 0, strings.Repeat("\x00", 9): 0, strings.Repeat("\x00", 3*maxLine): 0,
		"x": 1, "\x00\x00junk\x00": 5, strings.Repeat("junk", maxLine): 4 * maxLine,
	} {
		for _, open := range []func(string, []byte) Log{logOf, fileOf} {
			b := append(slices.Clone(log), after...)
			r := runOne(t, Config{}, "1/1s", open("a.gz", b))
			assert.Equal(t, File{Name: "a.gz", Format: "json", Lines: 2, Ignored: ignored}, r.Files[0])
			r = runOne(t, Config{}, "1/1s", open("a.gz", append(slices.Clone(log), append(bytes.Trim([]byte(after), "junkx"), b...)...)))
			if !strings.ContainsAny(after, "junkx") {
				assert.Equal(t, 4, r.Requests, "a member after zeros")
			}
		}
	}
	for _, cut := range []int{1, 2, 9, len(log) / 2, len(log) - 1} {
		_, err := Run(t.Context(), Config{}, nil, []Log{logOf("a.gz", append(slices.Clone(log), log[:cut]...))})
		assert.ErrorContains(t, err, "the file is cut off: unexpected EOF", cut)
	}
}

// If the cut is in its first line, there is no whole line to find the format by.
func TestCutOffInTheFirstLine(t *testing.T) {
	const line = `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1` + "\n"
	for _, cut := range []int{20, 60, 75} {
		for _, format := range []string{"combined", ""} {
			r, err := Run(t.Context(), Config{Format: format}, policies(t, "1/1s"), []Log{logOf("a.gz", zipped([]byte(line))[:cut]), textLog("b", line)})
			require.EqualError(t, err, "a.gz: the file is cut off: unexpected EOF")
			require.NotNil(t, r, "of %d bytes", cut)
			assert.Equal(t, File{Name: "a.gz", Error: err.Error()}, r.Files[0])
			assert.Equal(t, 1, r.Requests)
		}
	}
}
