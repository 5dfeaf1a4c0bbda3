package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"
)

// A Writer writes a file. After an error of its [io.Writer] it writes nothing more, and End returns
// that error.
type Writer struct {
	w    io.Writer
	sum  hash.Hash
	out  *bufio.Writer // to both
	keys uint64
}

// NewWriter returns a Writer that has begun with the header.
func NewWriter(w io.Writer, h Header) *Writer {
	sum := sha256.New()
	out := &Writer{w: w, sum: sum, out: bufio.NewWriterSize(io.MultiWriter(w, sum), bufferLen)}
	_, _ = out.out.WriteString(magic)
	_ = out.count(version)
	_ = out.words(h.Seeds[:]...)
	_ = out.out.WriteByte(byte(h.Depth))
	return out
}

// Policy writes a policy.
func (w *Writer) Policy(p Policy) error {
	if p.OwnClock {
		_ = w.out.WriteByte(kindOwnPolicy)
		_ = w.words(uint64(p.Now))
	} else {
		_ = w.out.WriteByte(kindPolicy)
	}
	_ = w.count(uint32(len(p.Text)))
	_, err := w.out.WriteString(p.Text)
	return err
}

// Key writes a key.
func (w *Writer) Key(k Key) error {
	if uint64(len(k.Words)) > math.MaxUint32 {
		return fmt.Errorf("a state of %d words is too long", len(k.Words))
	}
	w.keys++
	_ = w.out.WriteByte(kindKey)
	_ = w.words(k.A, k.B)
	_ = w.count(k.Policy)
	_ = w.count(uint32(len(k.Words)))
	return w.words(k.Words...)
}

// End writes the end of the file. It does not close anything.
func (w *Writer) End() error {
	_ = w.out.WriteByte(kindEnd)
	_ = w.words(w.keys)
	if err := w.out.Flush(); err != nil {
		return err
	}
	w.out.Reset(w.w)
	_, _ = w.out.Write(w.sum.Sum(nil))
	return w.out.Flush()
}

func (w *Writer) words(words ...uint64) (err error) {
	for _, word := range words {
		_, err = w.out.Write(binary.LittleEndian.AppendUint64(w.out.AvailableBuffer(), word))
	}
	return err
}

func (w *Writer) count(n uint32) error {
	_, err := w.out.Write(binary.LittleEndian.AppendUint32(w.out.AvailableBuffer(), n))
	return err
}
