package weir

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Those who were told their turns by different policies are told new ones by the next who looks.
func TestLines_KnowWhoseTurnsTheyHave(t *testing.T) {
	a, b := Must(New(TokenBucket{Limit: 1, Per: 1})), Must(New(TokenBucket{Limit: 2, Per: 1}))
	s, other := a.plans.usual.Load(), b.plans.usual.Load()
	equal := &Scope{Name: s.Name, Policy: s.Policy, Decider: s.Decider, clock: s.clock}
	for name, join := range map[string]func(ls *lines, s *Scope){
		"booked":     func(ls *lines, s *Scope) { ls.joinBooked(s, "k", 1, 1) },
		"not booked": func(ls *lines, s *Scope) { ls.open(s, "k", 1, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			var ls lines
			require.False(t, ls.outdated(s, "k"), "nobody waits")
			join(&ls, s)
			require.False(t, ls.outdated(s, "k"))
			require.False(t, ls.outdated(equal, "k"))
			require.True(t, ls.outdated(other, "k"))
			join(&ls, equal)
			require.False(t, ls.outdated(s, "k"))
			join(&ls, other)
			require.True(t, ls.outdated(s, "k"))
			require.True(t, ls.outdated(other, "k"))
			join(&ls, other)
			require.True(t, ls.outdated(other, "k"))
		})
	}
}

// A place is a waiter in a naive line, a slice with the instants written out.
type place struct {
	*waiter
	at int64
}

// The line of those who have booked keeps the distances between them instead, so that
// all those behind one can move up in a single step. It must be the naive line at all times.
func TestLines_AreANaiveLine(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		var (
			ls    lines
			naive []place
			now   int64
		)
		for range 400 {
			switch random.IntN(4) {
			case 0, 1: // somebody joins; often at an instant before that of others
				at := now + 1 + random.Int64N(50)
				w := ls.joinBooked(nil, "k", 1, at)
				i := len(naive)
				for i > 0 && naive[i-1].at > at {
					i--
				}
				naive = slices.Insert(naive, i, place{w, at})
			case 2: // somebody gives up; those behind move up
				if len(naive) == 0 {
					continue
				}
				i, d := random.IntN(len(naive)), random.Int64N(20)
				ls.moveUp(naive[i].waiter, time.Duration(d))
				naive = slices.Delete(naive, i, i+1)
				for j := i; j < len(naive); j++ {
					naive[j].at -= d
				}
			case 3: // time passes, and somebody looks
				if len(naive) == 0 {
					continue
				}
				now += random.Int64N(15)
				w := naive[random.IntN(len(naive))].waiter
				var sentOff []place
				for len(naive) > 0 && naive[0].at <= now {
					sentOff, naive = append(sentOff, naive[0]), naive[1:]
				}
				turn, left := ls.turn(w, now)
				switch {
				case slices.ContainsFunc(sentOff, func(p place) bool { return p.waiter == w }):
					require.Equal(t, granted, turn)
				case naive[0].waiter == w:
					require.Equal(t, first, turn)
					require.Equal(t, time.Duration(naive[0].at-now), left)
				default:
					require.Equal(t, behind, turn)
				}
				for _, p := range sentOff {
					require.Len(t, p.wake, 1, "sent off without a word")
				}
			}
			requireLine(t, &ls, naive)
		}
	}
}

// requireLine requires that the line is the naive one, read forwards and backwards, and that it is
// remembered only while somebody is in it.
func requireLine(t *testing.T, ls *lines, naive []place) {
	t.Helper()
	ln := ls.all[lineID{"k", true}]
	if len(naive) == 0 {
		require.Nil(t, ln)
		require.Empty(t, ls.all)
		return
	}
	at, w := ln.at, ln.first
	for i, want := range naive {
		if i > 0 {
			at += w.gap
		}
		require.Same(t, want.waiter, w, "place %d", i)
		require.Equal(t, want.at, at, "place %d", i)
		require.False(t, w.gone)
		if i == 0 {
			require.Nil(t, w.prev)
		} else {
			require.Same(t, naive[i-1].waiter, w.prev)
		}
		w = w.next
	}
	require.Nil(t, w)
	require.Same(t, naive[len(naive)-1].waiter, ln.last)
	require.Equal(t, at, ln.lastAt)
}

// One whose instant comes while its place is being given back has left already. Those who are still there
// were behind it, and move up.
func TestLines_MoveUpBehindOneWhoHasLeft(t *testing.T) {
	var ls lines
	a, b, c := ls.joinBooked(nil, "k", 1, 10), ls.joinBooked(nil, "k", 1, 20), ls.joinBooked(nil, "k", 1, 30)
	turn, _ := ls.turn(b, 10)
	require.Equal(t, first, turn)
	ls.moveUp(a, 5)
	requireLine(t, &ls, []place{{b, 15}, {c, 25}})
	turn, _ = ls.turn(b, 25)
	require.Equal(t, granted, turn)
	require.Empty(t, ls.all)
	ls.moveUp(c, 5) // of the last: nobody is behind it
	require.Empty(t, ls.all)
}

// In a line whose waiters ask again, whoever becomes the first may ask at once.
func TestLines_TheNextMayAsk(t *testing.T) {
	var ls lines
	a, b := ls.open(nil, "k", 1, 10, 1), ls.open(nil, "k", 1, 99, 1)
	for _, test := range []struct {
		w    *waiter
		now  int64
		want turn
	}{{a, 9, first}, {b, 9, behind}, {a, 10, mayAsk}, {b, 10, behind}} {
		got, _ := ls.turn(test.w, test.now)
		require.Equal(t, test.want, got)
	}
	ls.postpone(a, 20, 1, 0)
	got, left := ls.turn(a, 12)
	require.Equal(t, first, got)
	require.Equal(t, time.Duration(8), left)
	ls.remove(a)
	require.Len(t, b.wake, 1)
	got, _ = ls.turn(b, 12)
	require.Equal(t, mayAsk, got)
	ls.remove(b)
	require.Empty(t, ls.all)
}
