package registertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// keep looks at values until they may be forgotten.
func keep(e *env) error {
	const soon, later = 300 * time.Millisecond, 1400 * time.Millisecond // not a whole number of seconds
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
	var all sync.WaitGroup
	var errs [4]error
	for i := range errs {
		keep := []time.Duration{soon, later}[i/2]
		all.Go(func() { errs[i] = e.keepFor(fmt.Sprint("soon ", i), keep, i%2 > 0) })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	// A value that has expired, or soon will, is in nobody's way.
	gone := e.key("at once")
	if err := e.putAgain(e.regs[0], gone, []byte{1}, time.Millisecond); err != nil {
		return err
	}
	if err := e.putAgain(e.regs[1], e.key("soon 0 0"), []byte("again"), long); err != nil {
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

// keepFor checks that a value stays for the time soon. If the machine was too busy to look when it
// matters, keepFor tries again.
func (e *env) keepFor(name string, soon time.Duration, again bool) error {
	for attempt := range 5 {
		seen, err := e.keepOnce(e.key(fmt.Sprint(name, " ", attempt)), soon, again)
		if err != nil || seen > soon*3/4 {
			return err
		}
	}
	return nil
}

// keepOnce puts a value that must stay for the time soon, and gets it all that time. It returns how
// long after the Swap the value was seen. With again, the value replaces one that need not stay for
// as long.
func (e *env) keepOnce(key string, soon time.Duration, again bool) (seen time.Duration, err error) {
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
