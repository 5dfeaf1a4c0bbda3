package iolimit

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Reader reads from another reader no faster than its limits allow. [NewReader] makes it. Like most
// readers, it is not safe for concurrent use.
type Reader struct {
	ctx context.Context
	in  reader
}

// NewReader returns a Reader of r. The context bounds the waits, and not the calls of r. After it
// has ended, every Read of at least one byte fails.
func NewReader(ctx context.Context, r io.Reader, limits ...Limit) *Reader {
	return &Reader{ctx, newReader(r, limits)}
}

// Read implements [io.Reader]. It reads at most one chunk from the underlying reader, waits until
// the limits grant the bytes that it got, and returns them. It therefore counts what was read, and
// a reader that waits for data holds no part of the limit.
//
// The errors are those of the underlying reader, of the context, and of [weir.Limiter]. For
// example, if the bytes cannot be granted before the deadline of the context, the error wraps
// [weir.ErrTooLate], and comes at once. After an error of a wait no byte is lost: the next Read
// returns them. If p is empty, it does nothing.
func (r *Reader) Read(p []byte) (int, error) {
	n, _, err := r.in.read(r.ctx, p)
	return n, err
}

// reader is a Reader without a context.
type reader struct {
	r      io.Reader
	limits limits

	kept []byte // what was read and could not be returned
	err  error  // of r, after kept
}

func newReader(r io.Reader, list []Limit) reader {
	return reader{r: r, limits: newLimits(list)}
}

var errReadCount = errors.New("weir: the underlying Read returned a count that is below 0 or above the buffer's length")

// read is [Reader.Read]. It reports whether err comes from a limit or ctx, not from r.
func (r *reader) read(ctx context.Context, p []byte) (n int, ofWait bool, err error) {
	switch {
	case len(p) == 0:
		return 0, false, nil
	case ctx.Err() != nil:
		return 0, true, ctx.Err()
	case len(r.kept) > 0:
		n, err = r.readKept(ctx, p)
		return n, err != nil, err
	case r.err != nil:
		err, r.err = r.err, nil
		return 0, false, err
	}
	size, err := r.limits.next(ctx, len(p))
	if err != nil {
		return 0, true, err
	}
	n, err = r.r.Read(p[:size])
	if n < 0 || n > size {
		return 0, false, errReadCount
	}
	if n == 0 {
		return 0, false, err
	}
	passed, failed := r.limits.wait(ctx, n)
	if passed < n {
		r.kept, r.err = slices.Clone(p[passed:n]), err
		return passed, failed != nil, failed
	}
	return n, false, err
}

// readKept returns what an earlier call has read. It waits only for the bytes that fit into p: the
// others would pass later than they were granted.
func (r *reader) readKept(ctx context.Context, p []byte) (int, error) {
	n, err := r.limits.next(ctx, min(len(p), len(r.kept)))
	if err == nil {
		n, err = r.limits.wait(ctx, n)
	}
	if err != nil {
		return 0, err
	}
	copy(p, r.kept[:n])
	if r.kept = r.kept[n:]; len(r.kept) == 0 {
		r.kept = nil
	}
	return n, nil
}
