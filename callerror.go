package weir

import (
	"errors"
	"fmt"
	"io"

	"github.com/weir-go/weir/internal/text"
)

var errNegative = errors.New("must be at least 0")

// callError returns the error of a call for n events.
func callError(what string, n int, err error) error {
	switch err {
	case nil, errNotMade:
		return err
	case errNegative:
		return fmt.Errorf("weir: %s %d events, %w", what, n, err)
	}
	return failed(fmt.Sprintf("%s %d events", what, n), err)
}

// failed returns err with the name of the call before it. It returns nil and errNotMade as they
// are.
func failed(call string, err error) error {
	if err == nil || err == errNotMade {
		return err
	}
	return text.Fault{Where: call, Err: noEnd(err)}
}

// noEnd returns err in a form in which [errors.Is] does not find [io.EOF], but finds everything
// else. A store whose server has closed the connection may fail with io.EOF. If a reader that asks
// a limiter returned that error, its caller would believe that everything was read.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return notEnd{err}
	}
	return err
}

// A notEnd has err as a field and does not embed it. Otherwise go doc would not list New beside
// KeyedLimiter.
type notEnd struct{ err error }

func (e notEnd) Error() string { return e.err.Error() }

// Is and As are for package errors, in place of Unwrap.
func (e notEnd) Is(target error) bool { return target != io.EOF && errors.Is(e.err, target) }
func (e notEnd) As(target any) bool   { return errors.As(e.err, target) }
