package weir

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A naivePlace is a waiter in a naive line, a slice with the instants written out.
type naivePlace struct {
	*waiter
	at int64
}

// under does what is done while an activity of the kind is under way.
func under(ls *lines, kind activity, do func(ln *line)) {
	ln, _, _ := ls.enter("k", kind, 1)
	do(ln)
	ls.end(ln)
}

// booked is the reply by which one books the instant at. The store has granted it at its instant granted, and it pays
// for it from start to end.
func booked(granted, start, end, now, at int64) *reply {
	return &reply{
		Answer: Answer{Result: Result{Allowed: true}, Delay: time.Duration(at - now)}, now: now,
		grant: grant{n: 1, at: granted, charges: []Charge{{1, time.Duration(start - granted), time.Duration(end - granted)}}},
	}
}

// The line is a ring. It must be the naive line at all times.
func TestLine_IsANaiveLine(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		var (
			ls    lines
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
				under(&ls, joining, func(ln *line) {
					w := &waiter{line: ln, n: 1 + random.IntN(3), in: ls.tickets.Add(1)}
					if behind, err := ls.come(w, nil, 0, now); behind || err != nil {
						t.Fatal("all have booked")
					}
					pass()
					at, i := now+1+random.Int64N(50), len(naive)
					if random.IntN(2) == 0 {
						w.in = 0
						for i > 0 && naive[i-1].at > at {
							i--
						}
					}
					if i > 0 {
						at = max(at, naive[i-1].at)
					}
					require.True(t, ls.place(w, nil, booked(1, 1, 2, now, at), 0))
					w.run, *one = one, run{}
					naive = slices.Insert(naive, i, naivePlace{w, at})
				})
			case 2: // some give up; those behind move up, each by its share
				if len(naive) == 0 {
					continue
				}
				under(&ls, returning, func(ln *line) {
					d, all := random.Int64N(20), int64(0)
					for range 1 + random.IntN(3) {
						if w := naive[random.IntN(len(naive))].waiter; !w.leaving {
							require.Equal(t, behind, ls.leaves(w))
							all += int64(w.n)
						}
					}
					i := slices.IndexFunc(naive, func(p naivePlace) bool { return p.leaving })
					back := ls.ofWaiter(naive[i].waiter)
					require.EqualValues(t, -all, back.ask.N)
					ls.givenBack(ln, back, Answer{Delay: time.Duration(d)})
					before, least := int64(0), int64(0)
					for i, p := range naive {
						if p.leaving {
							before += int64(p.n)
						} else {
							naive[i].at = max(p.at-d*before/all, least)
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
				w := naive[random.IntN(len(naive))].waiter
				turn, left := ls.turn(w, now)
				pass()
				switch {
				case w.gone:
					require.Equal(t, granted, turn)
				case naive[0].waiter == w:
					require.Equal(t, first, turn)
					require.Equal(t, time.Duration(naive[0].at-now), left)
				default:
					require.Equal(t, behind, turn)
				}
			}
			requireLine(t, &ls, naive)
		}
	}
}

// requireLine requires that the line is the naive one, read forwards and backwards, and that it is
// remembered only while somebody is in it.
func requireLine(t *testing.T, ls *lines, naive []naivePlace) {
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
		require.Same(t, want.waiter, w, "place %d", i)
		require.Equal(t, want.at, w.at, "place %d", i)
		require.False(t, w.gone)
		before = w
	}
	require.Same(t, &ln.ends, before.next)
	require.Same(t, before, ln.ends.prev)
	require.Same(t, before, ln.booked)
}

// Bookings are of one run if each starts where the one before ends, in whatever order their answers come.
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
	} {
		var ls lines
		for _, b := range test.bookings {
			under(&ls, joining, func(ln *line) {
				ls.place(&waiter{line: ln, n: 1}, nil, booked(5, b[0], b[1], 5, b[1]), 0)
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
	var ls lines
	ln, _, _ := ls.enter("k", joining, 1)
	a, b := &waiter{line: ln, n: 1}, &waiter{line: ln, n: 1}
	ls.place(a, nil, &reply{Answer: Answer{Result: Result{Limit: 1, RetryAfter: 10}}}, 99)
	ls.place(b, nil, &reply{Answer: Answer{Result: Result{Limit: 1, RetryAfter: 99}}}, 99)
	ls.end(ln)
	for _, test := range []struct {
		w    *waiter
		now  int64
		want turn
	}{{a, 9, first}, {b, 9, behind}, {a, 10, mayAsk}, {b, 10, behind}} {
		got, _ := ls.turn(test.w, test.now)
		require.Equal(t, test.want, got)
	}
	ls.place(a, nil, &reply{Answer: Answer{Result: Result{Limit: 1, RetryAfter: 10}}, now: 10}, 99)
	got, left := ls.turn(a, 12)
	require.Equal(t, first, got)
	require.Equal(t, time.Duration(8), left)
	ls.drop(a, nil)
	require.Len(t, b.wake, 1)
	got, _ = ls.turn(b, 12)
	require.Equal(t, mayAsk, got)
	ls.drop(b, nil)
	require.Empty(t, ls.all)
}

// However much is given back, those who wait do not move up to before time began, nor past each other.
func TestLine_GivenBackMoreThanThereIs(t *testing.T) {
	var ls lines
	under(&ls, joining, func(ln *line) {
		ls.place(&waiter{line: ln, n: 1}, nil, booked(1, 1, 10, 1, 10), 0)
		ls.place(&waiter{line: ln, n: 1}, nil, booked(1, 20, 30, 1, 20), 0)
	})
	ln := ls.all["k"]
	back := func() {
		for range 3 {
			ls.givenBack(ln, ls.ofRun(ln, 1), Answer{Delay: 1 << 62})
		}
	}
	a, b := ln.ends.next, ln.ends.prev
	back()
	requireLine(t, &ls, []naivePlace{{a, 10}, {b, 10}})
	ls.drop(b, nil)
	back()
	requireLine(t, &ls, []naivePlace{{a, 0}})
}
