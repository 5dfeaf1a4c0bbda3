package replay

import (
	"context"
	"errors"
	"io"
)

// A source is an opened log. Its reads end with the error of ctx when ctx ends, although a read of
// a pipe blocks for as long as nobody writes to it. Those of a file do not block.
type source struct {
	ctx  context.Context
	log  io.ReadCloser
	pipe *io.PipeReader // nil for a file
	stop func() bool
}

func newSource(ctx context.Context, log io.ReadCloser) *source {
	s := &source{ctx: ctx, log: log}
	if s.rewind() {
		return s
	}
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, struct{ io.Reader }{log}) // by Read, which may count bytes
		_ = w.CloseWithError(err)                      // never fails
	}()
	s.pipe = r
	s.stop = context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return s
}

// openLog opens a log, unless ctx ends before: that of a named pipe blocks until somebody writes to
// it.
func openLog(ctx context.Context, log Log) (io.ReadCloser, error) {
	type result struct {
		opened io.ReadCloser
		err    error
	}
	results := make(chan result, 1)
	go func() {
		opened, err := log.Open()
		results <- result{opened, err}
	}()
	select {
	case r := <-results:
		return r.opened, r.err
	case <-ctx.Done():
		go func() {
			if r := <-results; r.err == nil {
				_ = r.opened.Close() // was not read
			}
		}()
		return nil, ctx.Err()
	}
}

// rewind goes back to the start of a file. It returns false for what cannot, such as a pipe.
func (s *source) rewind() bool {
	file, ok := s.log.(io.Seeker)
	if !ok {
		return false
	}
	_, err := file.Seek(0, io.SeekStart)
	return err == nil
}

func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil { // at once, also if there is more to read
		return 0, err
	}
	if s.pipe == nil {
		return s.log.Read(b)
	}
	return s.pipe.Read(b)
}

func (s *source) Close() error {
	if s.pipe == nil {
		return s.log.Close()
	}
	s.stop()
	return errors.Join(s.pipe.Close(), s.log.Close())
}
