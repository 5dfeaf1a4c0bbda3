package weir

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// nilPolicy reports whether p is nil, or a nil pointer, as a map of pointers returns for a plan
// that it lacks. The methods of a policy that is a plain value panic on that.
func nilPolicy(p Policy) bool {
	if p == nil {
		return true
	}
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// nilText is what p is, of which nilPolicy is true.
func nilText(p Policy) string {
	if p == nil {
		return "nil"
	}
	return fmt.Sprintf("a nil %T", p)
}

// faults collects the faults of a policy, to report all of them at once.
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
