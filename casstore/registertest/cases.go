package registertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// model asks for two keys at random, and compares with what they must hold. Swaps have the latest
// Entry, or one of those before.
func model(e *env) error {
	type read struct {
		casstore.Entry
		change int // of the key when it was read
	}
	type state struct {
		value  held
		change int
		known  []read
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	states := [2]state{}
	for step := range 600 {
		i, r := rnd.IntN(2), e.regs[rnd.IntN(2)]
		s, key := &states[i], e.key(fmt.Sprint("key ", i))
		fail := func(format string, args ...any) error {
			return fmt.Errorf("step %d, %q: %w", step, key, fmt.Errorf(format, args...))
		}
		switch n := rnd.IntN(10); {
		case n == 0:
			if err := r.Delete(e.ctx, key); err != nil {
				return fail("Delete: %w", err)
			}
			s.value = nil
			s.change++
		case n < 5 || len(s.known) == 0:
			entry, err := e.get(r, key, s.value)
			if err != nil {
				return fail("%w", err)
			}
			s.known = append(s.known, read{entry, s.change})
		default:
			old := s.known[max(len(s.known)-1-rnd.IntN(3), 0)]
			value := binary.BigEndian.AppendUint32(make([]byte, rnd.IntN(100)), uint32(step))
			now, ok, err := r.Swap(e.ctx, key, old.Entry, value, long)
			if err != nil {
				return fail("Swap: %w", err)
			}
			switch current := old.change == s.change; {
			case ok && !current && (len(old.Value) > 0 || len(s.value) > 0):
				return fail("Swap succeeds with an Entry of %s, and the key has changed since to %s", short(old.Value), short(s.value))
			case !ok && current && len(old.Value) == 0: // what a Delete has left may have expired meanwhile
				if err := e.put(r, key, value, long); err != nil {
					return fail("Swap of no value does not succeed, and the key has not changed since it was read: %w", err)
				}
				ok, now = true, casstore.Entry{}
			case !ok && current:
				return fail("Swap of %s does not succeed, and the key has not changed since it was read", short(old.Value))
			}
			if ok {
				s.value = value
				s.change++
			}
			if err := told(now, s.value); err != nil {
				return fail("Swap: %w", err)
			}
			if now.Version != nil {
				s.known = append(s.known, read{now, s.change})
			}
		}
	}
	return nil
}

// race lets several goroutines read a key. When all have the same Entry, all swap it at once.
func race(e *env) error {
	const rounds, racers = 25, 8
	key, value, won := e.key("k"), held(nil), 0
	for round := range rounds {
		old, err := e.get(e.regs[round%2], key, value)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		swapped, errs := make([]bool, racers), make([]error, racers)
		var all sync.WaitGroup
		for i := range racers {
			all.Go(func() {
				_, swapped[i], errs[i] = e.regs[i%2].Swap(e.ctx, key, old, []byte{byte(round), byte(i)}, long)
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("a Swap, in a race: %w", err)
		}
		for i, ok := range swapped {
			if ok {
				won++
				value = []byte{byte(round), byte(i)}
			}
		}
		if won > round+1 {
			return fmt.Errorf("%d of %d Swaps of the same Entry succeed, one at most may", won-round, racers)
		}
	}
	if won < rounds {
		return fmt.Errorf("in %d of %d rounds no Swap of %d succeeds", rounds-won, rounds, racers)
	}
	_, err := e.get(e.regs[0], key, value)
	return err
}

// deletes deletes by one Register what the other wrote.
func deletes(e *env) error {
	key := e.key("k")
	for range 3 {
		for _, r := range e.regs { // for the second there is nothing to delete
			if err := r.Delete(e.ctx, key); err != nil {
				return fmt.Errorf("a Delete: %w", err)
			}
			if _, err := e.get(e.regs[0], key, nil); err != nil {
				return fmt.Errorf("after a Delete: %w", err)
			}
		}
		if err := e.put(e.regs[0], key, []byte("old"), long); err != nil {
			return fmt.Errorf("after a Delete: %w", err)
		}
		old, err := e.get(e.regs[1], key, []byte("old"))
		if err != nil {
			return err
		}
		if err := e.regs[1].Delete(e.ctx, key); err != nil {
			return fmt.Errorf("a Delete: %w", err)
		}
		if err := e.put(e.regs[1], key, []byte("new"), long); err != nil {
			return fmt.Errorf("after a Delete: %w", err)
		}
		switch _, ok, err := e.regs[0].Swap(e.ctx, key, old, []byte("lost"), long); {
		case err != nil:
			return fmt.Errorf("a Swap: %w", err)
		case ok:
			return errors.New("a Swap succeeds with an Entry of before a Delete: its Version has come back")
		}
	}
	return nil
}

// keys writes keys of all bytes and of all lengths, and looks whether each has its own value.
func keys(e *env) error {
	var all []string
	for _, key := range []string{
		"", " ", ".", "a.b", "a_b", "a-b", "ab", "a..b", "a b", "k\r\nflush_all\r\n",
		strings.Repeat("k", 250), strings.Repeat("k", 251),
	} {
		all = append(all, e.key(key))
	}
	for i := range 256 {
		all = append(all, e.key(string([]byte{'b', byte(i)})))
	}
	name := e.name
	for len(casstore.Key(name, "")) < len("weir/1/")+64+len("/") { // longer names and keys are hashed
		name += "n"
	}
	for _, last := range []string{"1", "2"} {
		all = append(all, casstore.Key(name, strings.Repeat("k", 127)+last))
	}
	for i, key := range all {
		if err := e.put(e.regs[0], key, []byte(key+"!"), long); err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
	}
	for i, key := range all {
		if _, err := e.get(e.regs[1], key, []byte(key+"!")); err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		if err := e.regs[1].Delete(e.ctx, key); err != nil {
			return fmt.Errorf("a Delete of key %d: %w", i, err)
		}
	}
	return nil
}

// values writes values of many lengths. It checks that Entries that Get returned before do not
// change.
func values(e *env) error {
	const most = 100_000 // a SlidingLog of ten thousand events; a server may have no room for it
	key := e.key("k")
	all := [][]byte{{0}, []byte("0"), []byte("\r\nEND\r\n"), bytes.Repeat([]byte{0xff}, 300), make([]byte, most)}
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	all = append(all, every, []byte("1"))
	var told []casstore.Entry
	var had [][]byte
	for i, value := range all {
		given := slices.Clone(value)
		err := e.put(e.regs[i%2], key, given, long)
		if !bytes.Equal(given, value) {
			return fmt.Errorf("a Swap changes the value that it is given, of %s", short(value))
		}
		if len(value) == most && errors.Is(err, weir.ErrRequest) {
			continue
		}
		if err != nil {
			return err
		}
		entry, err := e.get(e.regs[0], key, value)
		if err != nil {
			return err
		}
		told, had = append(told, entry), append(had, value)
	}
	for i, value := range had {
		if err := held(value).check(told[i]); err != nil {
			return fmt.Errorf("an Entry changes after Get has returned it: %w", err)
		}
	}
	return nil
}

// contexts makes each call with a context that has ended. Its effect is then not known. The key
// must work as before.
func contexts(e *env) error {
	key := e.key("k")
	if err := e.put(e.regs[0], key, []byte("before"), long); err != nil {
		return err
	}
	old, err := e.regs[0].Get(e.ctx, key)
	if err != nil {
		return fmt.Errorf("a Get: %w", err)
	}
	ended, end := context.WithCancel(e.ctx)
	end()
	for name, call := range map[string]func(){
		"Get":    func() { _, _ = e.regs[0].Get(ended, key) },
		"Swap":   func() { _, _, _ = e.regs[0].Swap(ended, key, old, []byte("between"), long) },
		"Delete": func() { _ = e.regs[0].Delete(ended, key) },
	} {
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			call()
		}()
		select {
		case <-returned:
		case <-time.After(e.patience):
			return fmt.Errorf("%s has not returned %v after its context had ended", name, e.patience)
		}
	}
	return e.putAgain(e.regs[0], key, []byte("after"), long)
}
