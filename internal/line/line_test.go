package line

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/exact"
)

// A naivePlace is a waiter in a naive line, a slice with the instants written out.
type naivePlace struct {
	*Waiter
	own, at int64
}

// under does what is done while an activity of the kind is under way.
func under(ls *Lines, kind Activity, do func(ln *Line)) {
	ln, _, _ := ls.enter("k", kind, 1)
	do(ln)
	ln.End()
}

// waiter is one that has come to the line, and asks the store.
func (ln *Line) waiter(n int) *Waiter { return &Waiter{N: n, lines: ln.Lines, line: ln} }

// alike is the policy of all bookings.
type alike struct{}

func (alike) Equal(Policy) bool { return true }

func (alike) Follows(Policy) bool { return true }

// slow is the pace of a queue whose events take so long that a give-back often frees less than they
// took.
var slow = Pace{Rate: exact.Rate{Num: 5, Den: 1}}

// booked is the reply by which one books the instant at. The store has granted it at its instant
// granted, and it pays for it from start to end.
func booked(granted, start, end, now, at int64) *Reply {
	return &Reply{
		Granted: true, Delay: time.Duration(at - now), Now: now,
		Booking: Booking{
			By: alike{}, N: 1, At: granted, Start: exact.Instant{NS: start}, End: exact.Instant{NS: end}, Pace: slow,
		},
	}
}

// The line is a ring. It must be the naive line at all times.
func TestLine_IsANaiveLine(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		var (
			ls    Lines
			naive []naivePlace
			now   int64
			one   = new(run) // all are of one run
		)
		pass := func() {
			for len(naive) > 0 && naive[0].at <= now {
				require.Len(t, naive[0].wake, 1, "sent off without a word")
				naive = naive[1:]
			}
		}
		for range 400 {
			switch random.IntN(4) {
			case 0, 1: // somebody joins; often at the same time as others, and at an instant before theirs
				under(&ls, Joining, func(ln *Line) {
					w := ls.NewWaiter(t.Context(), 1+random.IntN(3))
					if w.Come(ln, alike{}, 0, now) != MayAsk {
						t.Fatal("all have booked")
					}
					pass()
					at, i := now+1+random.Int64N(50), len(naive)
					if random.IntN(2) == 0 {
						w.in = 0
						for i > 0 && naive[i-1].own > at {
							i--
						}
					}
					w.Place(booked(1, 1, 1<<40, now, at)) // so late that it can move up as often as it likes
					w.run, *one = one, run{Booking{By: alike{}, Pace: slow}}
					naive = slices.Insert(naive, i, naivePlace{w, at, at})
					if i > 0 {
						naive[i].at = max(at, naive[i-1].at)
					}
				})
			case 2: // some give up; those behind move up, each by the time that is freed before it
				if len(naive) == 0 {
					continue
				}
				under(&ls, Returning, func(ln *Line) {
					paid := exact.Uint128{Lo: 1 << 40}
					for _, p := range naive { // nobody has gone between two of them
						paid = paid.Add(slow.Rate.Cost(uint64(p.N)))
						p.goes = paid
					}
					all := int64(0)
					for range 1 + random.IntN(3) {
						if w := naive[random.IntN(len(naive))].Waiter; !w.leaving {
							require.True(t, w.Leave(nil))
							all += int64(w.N)
						}
					}
					i := slices.IndexFunc(naive, func(p naivePlace) bool { return p.leaving })
					back, ok := naive[i].Back()
					require.True(t, ok)
					require.EqualValues(t, all, back.N)
					d := random.Int64N(5*all + 1)
					ln.GivenBack(back, Freed{Up: time.Duration(d)})
					before, least := int64(0), int64(0)
					for i, p := range naive {
						if p.leaving {
							before += int64(p.N)
						} else if d > 0 { // else nobody moves
							naive[i].own -= max(d-5*(all-before), 0)
							naive[i].at = max(naive[i].own, least)
							least = naive[i].at
						}
					}
					naive = slices.DeleteFunc(naive, func(p naivePlace) bool { return p.leaving })
				})
			case 3: // time passes, and somebody looks
				if len(naive) == 0 {
					continue
				}
				now += random.Int64N(15)
				w := naive[random.IntN(len(naive))].Waiter
				turn, left := w.Turn(now)
				pass()
				switch {
				case w.gone:
					require.Equal(t, Gone, turn)
				case naive[0].Waiter == w:
					require.Equal(t, First, turn)
					require.Equal(t, time.Duration(naive[0].at-now), left)
				default:
					require.Equal(t, Behind, turn)
				}
			}
			requireLine(t, &ls, naive)
		}
	}
}

// requireLine requires that the line is the naive one, read forwards and backwards, and that it is
// remembered only while somebody is in it.
func requireLine(t *testing.T, ls *Lines, naive []naivePlace) {
	t.Helper()
	ln := ls.all["k"]
	if len(naive) == 0 {
		require.Nil(t, ln)
		return
	}
	before := &ln.ends
	require.Same(t, before.next, ln.watcher)
	for i, want := range naive {
		w := before.next
		require.Same(t, before, w.prev)
		require.Same(t, want.Waiter, w, "place %d", i)
		require.Equal(t, want.at, w.at, "place %d", i)
		require.False(t, w.gone)
		before = w
	}
	require.Same(t, &ln.ends, before.next)
	require.Same(t, before, ln.ends.prev)
	require.Same(t, before, ln.booked)
}

// Bookings are of one run if each starts where the one before ends, in whatever order their answers
// come.
func TestLine_Runs(t *testing.T) {
	for _, test := range []struct {
		name     string
		bookings [][2]int64 // start and end, in the order in which the answers come
		runs     []int      // of those in the line, the number of the run
	}{
		{"one after the other", [][2]int64{{10, 11}, {11, 12}, {12, 15}}, []int{0, 0, 0}},
		{"the answers overtake", [][2]int64{{12, 15}, {10, 11}, {11, 12}}, []int{0, 0, 0}},
		{"the last first", [][2]int64{{12, 15}, {11, 12}, {10, 11}}, []int{0, 0, 0}},
		{"another between", [][2]int64{{10, 11}, {12, 13}, {13, 14}}, []int{0, 1, 1}},
		{"others between all", [][2]int64{{10, 11}, {12, 13}, {14, 15}}, []int{0, 1, 2}},
		{"another has left", [][2]int64{{10, 11}, {11, 12}, {11, 12}}, []int{0, 0, 1}},
		{"no pace known", [][2]int64{{10, 11}, {11, 12}, {12, 15}}, []int{0, 1, 2}},
	} {
		var ls Lines
		for _, b := range test.bookings {
			under(&ls, Joining, func(ln *Line) {
				reply := booked(5, b[0], b[1], 5, b[1])
				if test.name == "no pace known" {
					reply.Pace = Pace{}
				}
				ln.waiter(1).Place(reply)
			})
		}
		var runs []*run
		var numbers []int
		ln := ls.all["k"]
		for w := ln.ends.next; w != &ln.ends; w = w.next {
			i := slices.Index(runs, w.run)
			if i < 0 {
				i, runs = len(runs), append(runs, w.run)
			}
			numbers = append(numbers, i)
		}
		require.Equal(t, test.runs, numbers, test.name)
		require.Same(t, runs[len(runs)-1], ln.booked.run, test.name)
	}
}

// In a line whose waiters ask again, whoever becomes the first may ask at once.
func TestLine_TheNextMayAsk(t *testing.T) {
	var ls Lines
	ln, _, _ := ls.enter("k", Joining, 1)
	a, b := ln.waiter(1), ln.waiter(1)
	a.Place(&Reply{Delay: 10})
	b.Place(&Reply{Delay: 99})
	ln.End()
	for _, test := range []struct {
		w    *Waiter
		now  int64
		want Turn
	}{{a, 9, First}, {b, 9, Behind}, {a, 10, MayAsk}, {b, 10, Behind}} {
		got, _ := test.w.Turn(test.now)
		require.Equal(t, test.want, got)
	}
	a.Place(&Reply{Delay: 10, Now: 10})
	got, left := a.Turn(12)
	require.Equal(t, First, got)
	require.Equal(t, time.Duration(8), left)
	a.Drop(nil)
	require.Len(t, b.wake, 1)
	got, _ = b.Turn(12)
	require.Equal(t, MayAsk, got)
	b.Drop(nil)
	require.Empty(t, ls.all)
}
