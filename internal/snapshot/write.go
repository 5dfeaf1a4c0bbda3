package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"
)

// A Writer writes a file. After an error it writes nothing more, and each method returns the error.
type Writer struct {
	w    io.Writer
	sum  hash.Hash
	buf  []byte
	keys uint64
	err  error
}

// NewWriter returns a Writer that has begun with the header.
func NewWriter(w io.Writer, h Header) *Writer {
	out := &Writer{w: w, sum: sha256.New(), buf: make([]byte, 0, bufferLen)}
	out.buf = append(out.buf, magic...)
	out.buf = binary.LittleEndian.AppendUint32(out.buf, version)
	out.words(h.Seeds[:])
	out.buf = append(out.buf, byte(h.Depth))
	return out
}

// Policy writes a policy.
func (w *Writer) Policy(p Policy) error {
	if p.OwnClock {
		w.buf = append(w.buf, kindOwnPolicy)
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(p.Now))
	} else {
		w.buf = append(w.buf, kindPolicy)
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(p.Text)))
	w.buf = append(w.buf, p.Text...)
	return w.flush(bufferLen)
}

// Key writes a key.
func (w *Writer) Key(k Key) error {
	if uint64(len(k.Words)) > math.MaxUint32 {
		w.err = fmt.Errorf("a state of %d words is too long", len(k.Words))
		return w.err
	}
	w.keys++
	w.buf = append(w.buf, kindKey)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, k.A)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, k.B)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, k.Policy)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(k.Words)))
	w.words(k.Words)
	return w.flush(bufferLen)
}

// End writes the end of the file. It does not close anything.
func (w *Writer) End() error {
	w.buf = append(w.buf, kindEnd)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.keys)
	_ = w.flush(0)
	w.buf = w.sum.Sum(w.buf)
	return w.flush(0)
}

func (w *Writer) words(words []uint64) {
	for _, word := range words {
		if len(w.buf) >= bufferLen { // a long state need not be here as a whole
			_ = w.flush(bufferLen)
		}
		w.buf = binary.LittleEndian.AppendUint64(w.buf, word)
	}
}

// flush passes on the buffered bytes if they are at least least.
func (w *Writer) flush(least int) error {
	if w.err == nil && len(w.buf) >= least {
		w.sum.Write(w.buf)
		var n int
		if n, w.err = w.w.Write(w.buf); w.err == nil && n < len(w.buf) {
			w.err = io.ErrShortWrite
		}
	}
	if w.err != nil || len(w.buf) >= least {
		w.buf = w.buf[:0]
	}
	return w.err
}
