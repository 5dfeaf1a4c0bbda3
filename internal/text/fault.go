package text

import (
	"errors"
	"strings"
)

// A Fault is an error, and where it occurred. Its text begins with "weir: " once, even if that of
// Err does, too.
type Fault struct {
	Where string
	Err   error
}

func (f Fault) Error() string {
	return "weir: " + f.Where + ": " + strings.TrimPrefix(f.Err.Error(), "weir: ")
}

func (f Fault) Unwrap() error { return f.Err }

// Within adds to each of the errors in err, which may be joined, where it occurred. An error that
// says more than those in it stays whole.
func Within(where string, err error) (faults []error) {
	all := []error{err}
	if of, ok := err.(interface{ Unwrap() []error }); ok {
		if joined := errors.Join(of.Unwrap()...); joined != nil && joined.Error() == err.Error() {
			all = of.Unwrap()
		}
	}
	for _, err := range all {
		if err != nil {
			faults = append(faults, Fault{where, err})
		}
	}
	return faults
}
