package httplimit

import (
	"reflect"
	"time"

	"github.com/weir-go/weir"
)

// fullQuota is the most that p grants at once to a key never seen, and the time in which a key that
// used all of it has it back.
func fullQuota(p weir.Policy) (int, time.Duration, error) {
	d, err := p.Decider()
	if err != nil {
		return 0, 0, err
	}
	_, look := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{})
	return look.Limit, comesBack(p, d, look.Limit), nil
}

// comesBack is the time in which a key that used n events of p, whose Decider is d, has them back.
func comesBack(p weir.Policy, d weir.Decider, n int) time.Duration {
	switch p := pointedTo(p).(type) {
	case weir.SlidingWindow:
		// The last of a full window is gone after up to two of them; but they come back over one.
		return p.Per
	case weir.CalendarWindow:
		return longest(p.Unit) // and not what is left of the unit now
	}
	var results []weir.Result
	_, all := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{N: n, Parts: &results})
	parts := weir.Parts(p)
	if len(parts) == 0 {
		return all.ResetAfter
	}
	back := time.Duration(0)
	for i, part := range parts {
		if results[i].ResetAfter == 0 { // nothing was charged to it
			continue
		}
		if d, err := part.Decider(); err == nil { // as of a part of what is without fault
			back = max(back, comesBack(part, d, n))
		}
	}
	return back
}

// longest is the length of the longest unit of its kind, where no clock is put forward or back.
func longest(u weir.Unit) time.Duration {
	const day = 24 * time.Hour
	switch u {
	case weir.Minute:
		return time.Minute
	case weir.Hour:
		return time.Hour
	case weir.Day:
		return day
	case weir.Week:
		return 7 * day
	case weir.Month:
		return 31 * day
	default:
		return 366 * day
	}
}

// pointedTo is the policy that p points to, if it points to one, and else p. Of a nil pointer it is nil.
func pointedTo(p weir.Policy) weir.Policy {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer {
		return p
	}
	if v.IsNil() {
		return nil
	}
	if pointed, ok := v.Elem().Interface().(weir.Policy); ok {
		return pointed
	}
	return p
}
