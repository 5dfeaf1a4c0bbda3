package httplimit

import (
	"reflect"
	"time"

	"github.com/weir-go/weir"
)

// fullQuota returns the most that p grants at once to a new key, and the time in which a key that
// used all of it has it back.
func fullQuota(p weir.Policy) (int, time.Duration, error) {
	d, err := p.Decider()
	if err != nil {
		return 0, 0, err
	}
	_, look := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{})
	return look.Limit, comesBack(p, d, look.Limit), nil
}

// together returns the parts of a policy that all hold at once: those of [weir.All], to which every
// grant is charged. For other policies it returns nil. Of [weir.Tiers], one tier is enough for a
// grant, so clients do not have to stay within each of them.
func together(p weir.Policy) []weir.Policy {
	parts := weir.Components(p)
	if len(parts) == 0 {
		return nil
	}
	d, err := p.Decider()
	if err != nil {
		return nil // fullQuota reports it
	}
	var results []weir.Result
	d.Decide(make([]uint64, d.Words()), 0, weir.Ask{N: 1, ByComponent: &results})
	for _, r := range results {
		if r.ResetAfter == 0 {
			return nil
		}
	}
	return parts
}

// comesBack returns the time in which a key that used n events of p, whose Decider is d, has them
// back.
func comesBack(p weir.Policy, d weir.Decider, n int) time.Duration {
	switch p := pointedTo(p).(type) {
	case weir.SlidingWindow:
		// Up to two windows pass until the last event of a full window is gone. But the events come
		// back over one window.
		return p.Per
	case weir.CalendarWindow:
		return longest(p.Unit) // not the rest of the current unit
	}
	var results []weir.Result
	_, all := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{N: n, ByComponent: &results})
	parts := weir.Components(p)
	if len(parts) == 0 {
		return all.ResetAfter
	}
	back := time.Duration(0)
	for i, part := range parts {
		if results[i].ResetAfter == 0 { // no event was charged to this part
			continue
		}
		if d, err := part.Decider(); err == nil { // always nil: the whole policy is valid
			back = max(back, comesBack(part, d, n))
		}
	}
	return back
}

// longest returns the length of the longest unit of its kind, as if clocks were never put forward
// or back.
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

// pointedTo returns the policy that p points to, or p if it is not a pointer. For a nil pointer it
// returns nil.
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
