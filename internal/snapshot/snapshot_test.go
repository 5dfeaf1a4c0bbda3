package snapshot

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file that is written at random is read again, however its bytes are split into reads.
func TestReadWhatWasWritten(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 8))
		header := Header{Depth: uint(random.IntN(maxDepth + 1))}
		for i := range header.Seeds {
			header.Seeds[i] = random.Uint64()
		}
		var file bytes.Buffer
		w := NewWriter(&file, header)
		var written []any
		for range random.IntN(200) {
			if random.IntN(10) == 0 {
				p := Policy{Text: strings.Repeat("x", random.IntN(maxText+1)), OwnClock: random.IntN(2) == 0}
				if p.OwnClock {
					p.Now = random.Int64()
				}
				require.NoError(t, w.Policy(p))
				written = append(written, p)
				continue
			}
			k := Key{A: random.Uint64(), B: random.Uint64(), Policy: random.Uint32(), Words: []uint64{}}
			for range random.IntN(1 << random.IntN(14)) {
				k.Words = append(k.Words, random.Uint64())
			}
			require.NoError(t, w.Key(k))
			written = append(written, k)
		}
		require.NoError(t, w.End())

		r, got, err := NewReader(iotest.HalfReader(iotest.DataErrReader(&file)))
		require.NoError(t, err)
		require.Equal(t, header, got)
		for _, want := range written {
			record, err := r.Next()
			require.NoError(t, err)
			if k, ok := record.(*Key); ok {
				copied := *k
				copied.Words = append([]uint64{}, k.Words...)
				record = copied
			}
			require.Equal(t, want, record)
		}
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
	}
}

// A length is not believed: what is read takes memory as it comes.
func TestLengthsAreNotBelieved(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, Header{})
	require.NoError(t, w.Key(Key{Words: []uint64{1, 2, 3}}))
	require.NoError(t, w.End())
	lies := slices.Clone(file.Bytes())
	copy(lies[len(magic)+4+48+1+1+16+4:], []byte{255, 255, 255, 255})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, _, err := NewReader(bytes.NewReader(lies))
	require.NoError(t, err)
	_, err = r.Next()
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// A reader may fail after the last byte of the file, because its own file is incomplete.
func TestErrorAfterTheEnd(t *testing.T) {
	var file, packed bytes.Buffer
	require.NoError(t, NewWriter(&file, Header{}).End())
	read := func(in io.Reader) error {
		r, _, err := NewReader(in)
		for err == nil {
			_, err = r.Next()
		}
		return err
	}
	for _, want := range []error{io.ErrUnexpectedEOF, io.ErrClosedPipe, fmt.Errorf("the connection: %w", io.EOF)} {
		require.Equal(t, want, read(io.MultiReader(bytes.NewReader(file.Bytes()), iotest.ErrReader(want))))
	}
	z := gzip.NewWriter(&packed)
	_, err := z.Write(file.Bytes())
	require.NoError(t, errors.Join(err, z.Close()))
	for n := range 8 { // of its checksum and length
		unpack, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:packed.Len()-n]))
		require.NoError(t, err)
		want := io.EOF
		if n > 0 {
			want = io.ErrUnexpectedEOF
		}
		require.Equal(t, want, read(unpack), n)
	}
}

// A writer that writes less than it was given, and says nothing, is an error all the same.
func TestShortWrite(t *testing.T) {
	err := NewWriter(shortWriter{}, Header{}).End()
	require.ErrorIs(t, err, io.ErrShortWrite)
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

// Callers can tell by the error what is wrong with a file.
func TestErrors(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, NewWriter(&file, Header{}).End())
	read := func(file []byte) error {
		r, _, err := NewReader(bytes.NewReader(file))
		for err == nil {
			_, err = r.Next()
		}
		return err
	}
	require.Equal(t, io.EOF, read(file.Bytes()))
	for n := range file.Len() {
		want := ErrDamaged
		if n < len(magic) {
			want = ErrForeign
		}
		assert.ErrorIs(t, read(file.Bytes()[:n]), want, n)
		changed := slices.Clone(file.Bytes())
		changed[n]++
		switch {
		case n < len(magic):
		case n < len(magic)+4:
			want = ErrVersion
		}
		assert.ErrorIs(t, read(changed), want, n)
	}
}
