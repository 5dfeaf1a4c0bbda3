package weir

import (
	"errors"
	"fmt"
	"time"
)

// faults collects what is wrong with a policy, so that all of it is told at once.
type faults struct {
	policy Policy
	errs   []error
}

func (f *faults) add(field string, value any, allowed string) {
	f.errs = append(f.errs, fmt.Errorf("weir: %T.%s is %v, must be %s", f.policy, field, value, allowed))
}

func (f *faults) rate(limit int, per time.Duration) {
	if limit < 1 {
		f.add("Limit", limit, "at least 1")
	}
	if per < 1 {
		f.add("Per", per, "at least 1ns")
	}
}

func (f *faults) atLeastZero(field string, value int) {
	if value < 0 {
		f.add(field, value, "at least 0")
	}
}

func (f *faults) err() error { return errors.Join(f.errs...) }
