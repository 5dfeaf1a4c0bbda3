package registertest

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// keep looks at values until they may be forgotten.
func keep(e *env) error {
	const soon = 300 * time.Millisecond
	for _, keep := range []time.Duration{
		time.Minute, 25 * time.Hour, 40 * 24 * time.Hour, 100 * 366 * 24 * time.Hour,
		weir.Never - weir.Never%time.Millisecond, weir.Never,
	} {
		for range 2 { // a key that has no value, and one that has
			key := e.key(keep.String())
			if err := e.put(e.regs[0], key, []byte("kept"), keep); err != nil {
				return err
			}
			if _, err := e.get(e.regs[1], key, []byte("kept")); err != nil {
				return fmt.Errorf("at once after a Swap, kept for %v: %w", keep, err)
			}
		}
	}
	var key string
	for _, again := range []bool{false, true} {
		for attempt := range 5 {
			key = e.key(fmt.Sprint("soon", again, attempt))
			seen, err := e.keepFor(key, soon, again)
			if err != nil {
				return err
			}
			if seen > soon*3/4 { // else the machine was too busy to look when it matters
				break
			}
		}
	}
	// A value that has expired, or soon will, is in nobody's way.
	gone := e.key("at once")
	if err := e.putAgain(e.regs[0], gone, []byte{1}, time.Millisecond); err != nil {
		return err
	}
	if err := e.putAgain(e.regs[1], key, []byte("again"), long); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < soon; time.Sleep(time.Millisecond) {
		if entry, err := e.regs[1].Get(e.ctx, gone); err != nil || len(entry.Value) == 0 {
			break // a Register may also return expired values, as long as it replaces them
		}
	}
	if err := e.putAgain(e.regs[1], gone, []byte("again"), long); err != nil {
		return fmt.Errorf("after the value has expired: %w", err)
	}
	return nil
}

// keepFor puts a value that must stay for the time soon, and gets it all that time. It returns how
// long after the Swap the value was seen. With again, the value replaces one that need not stay for
// as long.
func (e *env) keepFor(key string, soon time.Duration, again bool) (seen time.Duration, err error) {
	if again {
		if err := e.put(e.regs[0], key, []byte("before"), soon/3); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	if err := e.putAgain(e.regs[0], key, []byte("kept"), soon); err != nil {
		return 0, err
	}
	for ; ; time.Sleep(soon / 300) { // often enough to see that a value goes a hundredth too early
		entry, err := e.regs[1].Get(e.ctx, key)
		if err != nil {
			return 0, fmt.Errorf("a Get: %w", err)
		}
		passed := time.Since(began)
		if passed >= soon-soon/100 { // its clock need not run as ours does
			return seen, nil
		}
		if err := held("kept").check(entry); err != nil {
			return 0, fmt.Errorf("%v after a Swap, kept for %v: %w", passed, soon, err)
		}
		seen = passed
	}
}
