package table

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A user of a table, as a limiter is. The first of its words is the instant at which they expire.
type user struct {
	*Table
	*Writer
	time *clock
	id   any
}

// A clock is moved by the test.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() int64 { return c.now.Load() }

func (u *user) ID() any                     { return u.id }
func (u *user) Clock() Clock                { return u.time }
func (u *user) Expiry(state []uint64) int64 { return int64(state[0]) }
func (u *user) Tags([]uint64) []uint64      { return nil }

// newTable makes an empty table, and tells who uses it: each call of join adds one.
func newTable(t *testing.T, maxKeys int) (join func(single bool) *user) {
	table, now := new(Table), new(clock)
	table.Init(maxKeys)
	return func(single bool) *user {
		t.Helper()
		u := &user{Table: table, time: now}
		u.id = u
		joined, ok := table.Join(&Writer{Owner: u, Expirer: u, Single: single})
		require.True(t, ok)
		u.Writer = joined
		return u
	}
}

func (u *user) hash(key int) Hash {
	return NewHash(scramble(uint64(key)), scramble(uint64(key)+1<<32), u.Tag())
}

// scramble is a bijection that is as good as random (splitmix64).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// put makes words those of the key, whoever wrote it before. It reports whether there is room.
func (u *user) put(key int, words ...uint64) bool {
	h := u.hash(key)
	defer u.SweepOften(h, u.time.Now())
	s := u.Lock(h)
	defer s.Unlock()
	if e := s.Lookup(h); e != nil {
		u.Change(s, e, func(Content) (Content, bool) { return Content{u.Writer, words}, true })
		return true
	}
	if u.Full() {
		u.SweepWhenFull(s)
	}
	return u.Add(s, h, Content{u.Writer, words})
}

// get returns the words of the key and who wrote them, or the zero Content.
func (u *user) get(key int) (found Content) {
	h := u.hash(key)
	s := u.Lock(h)
	defer s.Unlock()
	if e := s.Lookup(h); e != nil {
		u.Change(s, e, func(c Content) (Content, bool) {
			found = c
			return c, false
		})
	}
	return found
}

// each calls f with all segments, locked.
func (t *Table) each(f func(s *Segment)) {
	seen := map[*Segment]bool{}
	for i := range t.dir.Load().segments {
		if s := t.dir.Load().segments[i].Load(); !seen[s] {
			seen[s] = true
			s.mu.Lock()
			f(s)
			s.mu.Unlock()
		}
	}
}
