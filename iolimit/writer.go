package iolimit

import (
	"context"
	"errors"
	"io"
)

// Writer writes to another writer no faster than its limits allow. [NewWriter] makes it. It is not
// safe for concurrent use.
type Writer struct{ out writer }

// NewWriter returns a Writer to w. The context bounds the waits for the limits, and not the calls
// of w. After the context has ended, every Write of at least one byte fails.
func NewWriter(ctx context.Context, w io.Writer, limits ...Limit) *Writer {
	return &Writer{newWriter(w, limits, func() context.Context { return ctx })}
}

// Write implements [io.Writer]. It waits until the limits grant a chunk, writes that chunk to the
// underlying writer, and goes on with the next chunk. It returns when all of p is written, or at
// the first error, with the number of bytes that were written.
//
// The errors are those of the underlying writer, of the context, and of [weir.Limiter]. For
// example, if the limiter knows that it cannot grant a chunk before the deadline of the context,
// the error wraps [weir.ErrTooLate], and comes at once. Bytes that were granted and not written are
// given back to each limiter that has the Return method of [weir.KeyedLimiter]. Return frees as
// many bytes as the policy allows. An empty p is passed on to the underlying writer, and counts
// nothing.
func (w *Writer) Write(p []byte) (int, error) {
	n, _, err := w.out.write(p)
	return n, err
}

// writer is a Writer whose waits may each have a context of its own.
type writer struct {
	w       io.Writer
	limits  limits
	current func() context.Context // the context of a wait that begins now
}

func newWriter(w io.Writer, list []Limit, current func() context.Context) writer {
	return writer{w: w, limits: newLimits(list), current: current}
}

var errWriteCount = errors.New("weir: the underlying Write returned a count that is below 0 or above the buffer's length")

// write is [Writer.Write]. If err comes from a limit or a context, and not from w, it also returns
// the context of the wait.
func (w *writer) write(p []byte) (n int, wait context.Context, err error) {
	if len(p) == 0 {
		n, err = w.w.Write(p)
		return n, nil, err
	}
	for n < len(p) {
		ctx := w.current() // the deadline may have been moved while w wrote
		wrote, ofWait, err := w.writeChunk(ctx, p[n:])
		n += wrote
		if err != nil {
			w.limits.giveUp(ctx)
			if !ofWait {
				ctx = nil
			}
			return n, ctx, err
		}
	}
	return n, nil, nil
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
