package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// takeLines takes up to n lines, and returns with why it ended before.
func takeLines(in *input, n int) (lines []string, err error) {
	for range n {
		line, err := in.peek(context.Background())
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
		in.advance()
	}
	return lines, nil
}

func opened(t testing.TB, r io.Reader, finite bool) *input {
	in := newInput(r, finite)
	t.Cleanup(in.close)
	return in
}

func TestInputLines(t *testing.T) {
	long := strings.Repeat("x", 3*chunkSize+17)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"one", "a\n", []string{"a\n"}},
		{"no newline at the end", "a\nb", []string{"a\n", "b"}},
		{"only a start", "a", []string{"a"}},
		{"blank lines count", "\n\na\n\n", []string{"\n", "\n", "a\n", "\n"}},
		{"returns and zeros stay", "a\r\nb\x00\n", []string{"a\r\n", "b\x00\n"}},
		{"longer than a chunk", "a\n" + long + "\nb\n", []string{"a\n", long + "\n", "b\n"}},
		{"long and last", long, []string{long}},
	} {
		for reads, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":         func(r io.Reader) io.Reader { return r },
			"byte by byte":  iotest.OneByteReader,
			"halves":        iotest.HalfReader,
			"with its end":  iotest.DataErrReader,
			"empty between": func(r io.Reader) io.Reader { return &hesitant{r: r} },
		} {
			t.Run(c.name+", read "+reads, func(t *testing.T) {
				in := opened(t, wrap(strings.NewReader(c.text)), true)
				got, err := takeLines(in, len(c.want)+1)
				assert.Equal(t, io.EOF, err)
				assert.True(t, slices.Equal(c.want, got), "%.100q", got)
			})
		}
	}
}

// hesitant answers every other read with nothing and no error, as an io.Reader may.
type hesitant struct {
	r    io.Reader
	turn bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.turn = !h.turn; h.turn {
		return 0, nil
	}
	return h.r.Read(p)
}

func TestInputPeekStays(t *testing.T) {
	in := opened(t, strings.NewReader("a\nb\n"), true)
	for range 3 {
		line, err := in.peek(context.Background())
		require.NoError(t, err)
		assert.Equal(t, "a\n", string(line))
	}
}

// A read error is reported after the lines that were read before it. A part of a line is not sent
// as a line.
func TestInputReadError(t *testing.T) {
	fault := errors.New("the disk is on fire")
	in := opened(t, io.MultiReader(strings.NewReader("a\nb\nhal"), iotest.ErrReader(fault)), true)
	got, err := takeLines(in, 9)
	assert.Equal(t, []string{"a\n", "b\n"}, got)
	assert.Equal(t, fault, err)

	var left bytes.Buffer
	lines, err := in.rest(&left)
	assert.Equal(t, fault, err)
	assert.Equal(t, 1, lines)
	assert.Equal(t, "hal", left.String())
}

// While nothing comes, the end of the context ends a peek.
func TestInputInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	in := opened(t, r, false)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	_, err := in.peek(ctx)
	assert.Equal(t, why, err)
}

// The rest of a pipe is what has been read of it.
func TestInputRestOfPipe(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	in := opened(t, r, false)
	go w.Write([]byte("a\nb\nc\nd"))
	_, err := takeLines(in, 1)
	require.NoError(t, err)

	var left bytes.Buffer
	lines, err := in.rest(&left)
	require.NoError(t, err)
	assert.Equal(t, 3, lines)
	assert.Equal(t, "b\nc\nd", left.String())
}

// Where the rest can't be written it is still counted.
func TestInputRestCountsOn(t *testing.T) {
	in := opened(t, generate(100_000), true)
	lines, err := in.rest(full{})
	assert.Equal(t, errFull, err)
	assert.Equal(t, 100_000, lines)
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestGenerated(t *testing.T) {
	got, err := io.ReadAll(iotest.OneByteReader(generate(11)))
	require.NoError(t, err)
	assert.Equal(t, "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\nline 11\n", string(got))
	assert.NoError(t, iotest.TestReader(generate(500), linesTo(500)))
}

// linesTo is what generate(n) reads as.
func linesTo(n int) []byte {
	b, _ := io.ReadAll(generate(n))
	return b
}

// The lines taken and the rest together are the input, and all lines are counted. This holds for
// any bytes, any split into reads, and any place to stop.
func FuzzInputLosesNothing(f *testing.F) {
	f.Add([]byte("a\nb\nc"), uint8(1), uint16(3))
	f.Add([]byte("\n\n\r\n"), uint8(2), uint16(2))
	f.Add([]byte("abc"), uint8(0), uint16(0))
	f.Add(bytes.Repeat([]byte("long "), 99), uint8(7), uint16(0))
	f.Fuzz(func(t *testing.T, text []byte, stop uint8, size uint16) {
		in := opened(t, &pieces{text, int(size)%300 + 1}, true)
		taken, err := takeLines(in, int(stop))
		if err != nil {
			require.Equal(t, io.EOF, err)
		}
		var rest bytes.Buffer
		left, err := in.rest(&rest)
		require.NoError(t, err)

		require.Equal(t, string(text), strings.Join(taken, "")+rest.String())
		all := bytes.SplitAfter(text, []byte("\n"))
		if len(all[len(all)-1]) == 0 { // after the last newline is no line
			all = all[:len(all)-1]
		}
		require.Equal(t, len(all), len(taken)+left)
		for i, line := range taken {
			require.Equal(t, string(all[i]), line)
		}
	})
}

// pieces reads as text, at most size bytes at a time.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(p.size, len(b))], p.text)
	p.text = p.text[n:]
	return n, nil
}
