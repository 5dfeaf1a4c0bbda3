package replay

import (
	"context"
	"errors"
	"io"
)

// A source is an opened log. Its reads end with the error of ctx when ctx ends, although a read of a
// pipe blocks for as long as nobody writes to it.
type source struct {
	*io.PipeReader
	ctx  context.Context
	log  io.Closer
	stop func() bool
}

func newSource(ctx context.Context, log io.ReadCloser) *source {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, struct{ io.Reader }{log}) // by Read, which may count bytes
		_ = w.CloseWithError(err)                      // never fails
	}()
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return &source{r, ctx, log, stop}
}

func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil { // at once, also if there is more to read
		return 0, err
	}
	return s.PipeReader.Read(b)
}

func (s *source) Close() error {
	s.stop()
	return errors.Join(s.PipeReader.Close(), s.log.Close())
}
