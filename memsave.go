//go:build !weir_play

package weir

// The page of "weir play" saves nothing. It is built with the tag weir_play, without this file.
// Package crypto/sha256, which checks a saved file, would make the page that is sent 50 kB larger.

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/keyhash"
	"github.com/weir-go/weir/internal/snapshot"
	"github.com/weir-go/weir/internal/table"
	"github.com/weir-go/weir/internal/text"
)

// Save writes the states of the keys to w, for a [MemStore.Load] in the next process. Call it when
// the last request has been answered. The next process does not know events that are counted after
// Save, and may not know those that are counted while Save runs.
//
// Decisions go on while Save runs. For each key, Save writes a state that the key had while Save
// was running. A key that is new during the Save may be missing. For any number of keys, Save takes
// less than a megabyte of memory, plus the size of the longest state, plus about 40 bytes for each
// policy whose states it writes.
//
// Save writes neither keys nor expired states. But keep the file as secret as a list of the keys.
// With the file, anyone can test whether a key is in it, read the counts of the key, and find keys
// that would share an allowance (see MaxKeys). Give the file the mode 0600. Write to a new file and
// rename it, as the example does. Load refuses the file of a Save that was interrupted.
//
// If w returns an error, the error of Save wraps it. Save also fails if MaxKeys is below 0, or if
// the policy of a state has no text (see [AnyPolicy.MarshalText]), such as a policy of another
// package. The error names that policy. Give its limiter a store of its own.
func (s *MemStore) Save(w io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	m := s.memory.Load()
	if m == nil { // the store is as new, and stays that
		m = newMemory(s.MaxKeys, keyhash.New())
	}
	if err := m.save(w); err != nil {
		return text.Fault{Where: "MemStore.Save", Err: err}
	}
	return nil
}

// Load reads what [MemStore.Save] has written, in this process or another, on any machine. Call it
// before the first decision. The limiters of the store may be made before Load or after it. A
// limiter uses the states that were saved under its name:
//
//   - If the limiter has the same policy as the states, the limiter goes on where the saving
//     process stopped.
//   - If the policies differ, the states count against the limiter's policy, as they do after a
//     [KeyedLimiter.SetPolicy].
//   - States under a name that no limiter has are dropped after they have expired, as all states
//     are.
//
// All states that have not expired are loaded, even if their keys are more than MaxKeys. There is
// then no room for new keys until enough of the loaded keys have expired. Places that callers of
// [KeyedLimiter.Wait] and [KeyedLimiter.Reserve] had booked stay booked.
//
// Instants are saved as times of the wall clock, which a process reads once, when it starts. If the
// wall clock was set back between the starts of the saving and loading processes, keys recover
// later, by the same amount. If it was set forward, they recover earlier. States that had expired
// before the Save are not in the file. Their keys start as new ones.
//
// States of a limiter with a [WithClock] follow another clock: the clock of the first limiter with
// a WithClock that decides on this store. Until that limiter decides, real time passes for them.
//
// Load reads r to its end, and takes as much memory as the keys that it reads. Load fails, and
// changes nothing, in these cases:
//
//   - MaxKeys is below 0.
//   - The store has decided already, or has loaded a file.
//   - The file is damaged, incomplete, of another kind, or from a release of weir whose states or
//     policies this release cannot read.
//   - r returns an error, which the error of Load wraps.
func (s *MemStore) Load(r io.Reader) error {
	if err := s.check(); err != nil {
		return err
	}
	errInUse := errors.New("weir: MemStore.Load: the store is in use, must be before its first decision")
	if s.memory.Load() != nil {
		return errInUse
	}
	m, err := load(s.MaxKeys, r)
	if err != nil {
		return text.Fault{Where: "MemStore.Load", Err: err}
	}
	if !s.memory.CompareAndSwap(nil, m) {
		return errInUse
	}
	return nil
}

func (m *memory) save(to io.Writer) error {
	w := snapshot.NewWriter(to, snapshot.Header{Seeds: m.seeds, Depth: m.OverflowDepth()})
	numbers := map[*table.Writer]uint32{} // of the policies that are in the file
	number := func(by *table.Writer) (uint32, error) {
		if n := numbers[by]; n > 0 {
			return n, nil
		}
		p, err := writerOf(by).saved()
		if err != nil {
			return 0, err
		}
		numbers[by] = uint32(len(numbers) + 1)
		return numbers[by], w.Policy(p)
	}
	for c := range m.All() {
		k := snapshot.Key{Words: c.Words}
		k.A, k.B = c.Hash.Saved()
		var err error
		if _, ok := c.By.Owner.(*ledgers); ok {
			tags := tagsOf(c.Words)
			for i := 0; i < len(tags) && err == nil; i++ {
				var n uint32
				n, err = number(c.Of[i])
				tags[i] = uint64(n)
			}
		} else {
			k.Policy, err = number(c.By)
		}
		if err == nil {
			err = w.Key(k)
		}
		if err != nil {
			return err
		}
	}
	return w.End()
}

// saved is what a file has of a writer.
func (w *writer) saved() (p snapshot.Policy, err error) {
	form, err := marshalPolicy(w.policy)
	if err != nil {
		return p, text.Fault{Where: fmt.Sprintf("%#v has no text", w.policy), Err: err}
	}
	p = snapshot.Policy{Text: string(form), OwnClock: w.clock.Clock != nil}
	if p.OwnClock {
		p.Now = w.clock.Now()
	}
	return p, nil
}

// A loader makes a memory from a file. Nothing else uses that memory yet.
type loader struct {
	*memory
	writers []*table.Writer // of the policies in the file, by number less 1
}

func load(maxKeys int, from io.Reader) (*memory, error) {
	r, header, err := snapshot.NewReader(from)
	if err != nil {
		return nil, err
	}
	l := loader{memory: newMemory(maxKeys, header.Seeds)}
	for {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch record := record.(type) {
		case snapshot.Policy:
			err = l.policy(record)
		case *snapshot.Key:
			err = l.key(record)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.Overflows() {
		l.SetOverflowDepth(header.Depth)
	}
	l.loaded = time.Now()
	for _, w := range l.writers { // from now on it lasts as long as its keys, or as limiters have it
		l.Leave(w)
	}
	return l.memory, nil
}

func (l *loader) policy(saved snapshot.Policy) error {
	policy, err := ParsePolicy(saved.Text)
	if err != nil {
		return err
	}
	plan := Plan{Policy: policy, clock: new(clock.Nanos)}
	if plan.Decider, err = policy.Decider(); err != nil {
		return err
	}
	if saved.OwnClock {
		plan.clock.Clock = &standIn{l.memory, time.Unix(0, saved.Now)}
	}
	w, ok := l.Join(newWriter(&plan))
	if !ok {
		return errTooManyPolicies
	}
	l.writers = append(l.writers, w)
	return nil
}

func (l *loader) key(k *snapshot.Key) error {
	h, ok := table.SavedHash(k.A, k.B)
	c := table.Content{Words: k.Words}
	if k.Policy == 0 {
		c.By = &l.ledgers.Writer
		ok = ok && l.ledger(k.Words)
	} else if by := l.writer(uint64(k.Policy)); by != nil {
		c.By = by
		single := len(k.Words) == 1 && k.Words[0] != table.Moved
		ok = ok && (single || !by.Single) && sound(writerOf(by).decider, k.Words)
	}
	if !ok || c.By == nil {
		return fmt.Errorf("%w: a state is none that a policy leaves", snapshot.ErrDamaged)
	}
	if !l.Restore(h, c) {
		return fmt.Errorf("%w: a key has two states, or many have one hash", snapshot.ErrDamaged)
	}
	return nil
}

// writer returns the policy with a number, or nil.
func (l *loader) writer(number uint64) *table.Writer {
	if number-1 >= uint64(len(l.writers)) {
		return nil
	}
	return l.writers[number-1]
}

// ledger checks the words of a ledger, and puts tags in the place of the numbers there.
func (l *loader) ledger(words []uint64) bool {
	if len(words) == 0 || words[0]-1 >= maxEntries || words[0] >= uint64(len(words)) {
		return false
	}
	for i, number := range tagsOf(words) {
		w := l.writer(number)
		if w == nil {
			return false
		}
		tagsOf(words)[i] = w.Tag()
	}
	var g ledger
	return g.open(l.read(words), 0)
}

// A standIn is the clock of those states in a file whose limiter had a clock of its own. While the
// file is read it stands still, because the time of reading does not pass on such a clock. Then it
// follows real time until a limiter comes that has a clock of its own.
type standIn struct {
	of   *memory
	read time.Time // when the file was written
}

func (c *standIn) Now() time.Time {
	switch first := c.of.ownClock.Load(); {
	case first != nil:
		return first.Clock.Now()
	case c.of.loaded.IsZero():
		return c.read
	}
	return c.read.Add(time.Since(c.of.loaded))
}

// After implements [Clock]. No limiter has a standIn, and so nobody waits for it.
func (c *standIn) After(time.Duration) <-chan time.Time { return nil }
