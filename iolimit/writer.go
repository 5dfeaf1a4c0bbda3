package iolimit

import (
	"context"
	"errors"
	"io"
)

// Writer writes to another writer no faster than its limits allow. [NewWriter] makes it. Like most
// writers, it is not safe for concurrent use.
type Writer struct {
	ctx context.Context
	out writer
}

// NewWriter returns a Writer to w. The context bounds the waits, and not the calls of w. After it
// has ended, every Write fails.
func NewWriter(ctx context.Context, w io.Writer, limits ...Limit) *Writer {
	return &Writer{ctx, newWriter(w, limits)}
}

// Write implements [io.Writer]. It waits until the limits grant a chunk, writes that to the
// underlying writer, and goes on with the next. It returns when all of p is written, or with the
// number of bytes that were written and an error.
//
// The errors are those of the underlying writer, of the context, and of [weir.Limiter]. For
// example, if a chunk cannot be granted before the deadline of the context, the error wraps
// [weir.ErrTooLate], and comes at once. Bytes that were granted and not written are given back with
// [weir.KeyedLimiter.Return], which frees as many as the policy allows. An empty p is passed on,
// and counts nothing.
func (w *Writer) Write(p []byte) (int, error) {
	n, _, err := w.out.write(w.ctx, p)
	return n, err
}

// writer is a Writer without a context.
type writer struct {
	w      io.Writer
	limits limits
}

func newWriter(w io.Writer, list []Limit) writer {
	return writer{w: w, limits: newLimits(list)}
}

var errWriteCount = errors.New("weir: the underlying Write returned a count that is below 0 or above the buffer's length")

// write is [Writer.Write]. It reports whether err comes from a limit or ctx, not from w.
func (w *writer) write(ctx context.Context, p []byte) (n int, ofWait bool, err error) {
	if len(p) == 0 {
		n, err = w.w.Write(p)
		return n, false, err
	}
	for n < len(p) {
		var wrote int
		wrote, ofWait, err = w.writeChunk(ctx, p[n:])
		n += wrote
		if err != nil {
			w.limits.giveUp(ctx)
			return n, ofWait, err
		}
	}
	return n, false, nil
}

// writeChunk writes the first chunk of p. It returns an error if it writes less than it was granted.
func (w *writer) writeChunk(ctx context.Context, p []byte) (wrote int, ofWait bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, true, err
	}
	size, err := w.limits.next(ctx, len(p))
	if err == nil {
		size, err = w.limits.wait(ctx, size)
	}
	if err != nil {
		return 0, true, err
	}
	wrote, err = w.w.Write(p[:size])
	if wrote < 0 || wrote > size {
		return 0, false, errWriteCount
	}
	if wrote < size && err == nil {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.limits.giveBack(ctx, size-wrote)
	}
	return wrote, false, err
}
