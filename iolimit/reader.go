package iolimit

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Reader reads from another reader no faster than its limits allow. [NewReader] makes it. It is not
// safe for concurrent use.
type Reader struct{ in reader }

// NewReader returns a Reader of r. The context bounds the waits for the limits, and not the calls
// of r. After the context has ended, every Read of at least one byte fails.
func NewReader(ctx context.Context, r io.Reader, limits ...Limit) *Reader {
	return &Reader{newReader(r, limits, func() context.Context { return ctx })}
}

// Read implements [io.Reader]. It reads at most one chunk from the underlying reader, waits until
// the limits grant the bytes that it got, and returns them. While it waits for data, it takes
// nothing from the limits.
//
// The errors are those of the underlying reader, of the context, and of [weir.Limiter]. For
// example, if the limiter knows that it cannot grant the bytes before the deadline of the context,
// the error wraps [weir.ErrTooLate], and comes at once. If a wait fails, the next successful Reads
// return the bytes already read. If p is empty, Read does nothing.
func (r *Reader) Read(p []byte) (int, error) {
	n, _, err := r.in.read(p)
	return n, err
}

// reader is a Reader whose waits may each have a context of its own.
type reader struct {
	r       io.Reader
	limits  limits
	current func() context.Context // the context of a wait that begins now

	kept []byte // what was read and could not be returned
	err  error  // of r, after kept
}

func newReader(r io.Reader, list []Limit, current func() context.Context) reader {
	return reader{r: r, limits: newLimits(list), current: current}
}

var errReadCount = errors.New("weir: the underlying Read returned a count that is below 0 or above the buffer's length")

// read is [Reader.Read]. If err comes from a limit or a context, and not from r, it also returns the
// context of the wait.
func (r *reader) read(p []byte) (n int, wait context.Context, err error) {
	ctx := r.current()
	switch {
	case len(p) == 0:
		return 0, nil, nil
	case ctx.Err() != nil:
		return 0, ctx, ctx.Err()
	case len(r.kept) > 0:
		n, err = r.readKept(ctx, p)
		return n, ctx, err
	case r.err != nil:
		err, r.err = r.err, nil
		return 0, nil, err
	}
	size, err := r.limits.next(ctx, len(p))
	if err != nil {
		return 0, ctx, err
	}
	n, err = r.r.Read(p[:size])
	if n < 0 || n > size {
		return 0, nil, errReadCount
	}
	if n == 0 {
		return 0, nil, err
	}
	ctx = r.current() // the deadline may have been moved while r read
	passed, failed := r.limits.wait(ctx, n)
	if passed < n {
		r.kept, r.err = slices.Clone(p[passed:n]), err
		return passed, ctx, failed
	}
	return n, nil, err
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
