package replay

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// FuzzLines reads any text, however it comes. All lines that are not empty come, with their
// numbers. The lines of head are the first of them.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\nc"), 2)
	f.Add(append(bytes.Repeat([]byte("x"), maxLine), "\nb\n"...), 0)
	f.Add([]byte("\x1f\x8b"), 1)
	f.Add([]byte("\r\n\n"), 3*maxLine)
	f.Add([]byte("\ufeff\n\r\na"), 0)
	f.Add([]byte("\r\x00\n"), 24)
	f.Add([]byte("\x00\x00a\n\x00\r\n\x00b"), 0)
	f.Add(append(make([]byte, maxLine-1), "a\nb\n\n\x00"...), 3*maxLine)
	f.Fuzz(func(t *testing.T, text []byte, repeat int) {
		if repeat > 0 && len(text) > 0 { // long lines and long texts
			text = bytes.Repeat(text, 1+repeat%100_000/len(text))
		}
		isOther := slices.ContainsFunc(others, func(o other) bool { return o.marks(text) })
		if isOther || bytes.HasPrefix(text, []byte("\x1f\x8b")) {
			l, err := newLines(bytes.NewReader(text)) // most are no gzip
			for err == nil {
				_, err = l.next()
			}
			return
		}
		l, err := newLines(iotest.HalfReader(bytes.NewReader(text)))
		require.NoError(t, err)
		head, err := l.head(5)
		if err != nil {
			require.ErrorIs(t, err, errLong)
		}
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		n := 0
		for i, want := range bytes.Split(text, []byte("\n")) {
			want = bytes.TrimLeft(want, nul)
			whole := len(want)
			if want = bytes.TrimRight(want, "\r"); len(want) == 0 && whole < maxLine {
				continue
			}
			got, err := l.next()
			require.Equal(t, i+1, l.n)
			if errors.Is(err, errLong) {
				require.GreaterOrEqual(t, whole, maxLine-1)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, got)
			if n < len(head) {
				require.Equal(t, want, head[n])
			}
			n++
		}
		_, err = l.next()
		require.ErrorIs(t, err, io.EOF)
	})
}
