package weir

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// The short ways of Take, TakeByComponent and ReserveNow answer and charge as Decide does, on any
// state and at any instant.
func TestTake_ShortWaysAreDecide(t *testing.T) {
	for _, p := range []Policy{
		TokenBucket{Limit: 5, Per: 5 * time.Second},
		TokenBucket{Limit: 1, Per: time.Millisecond, Burst: 7},
		TokenBucket{Limit: 1, Per: 1 << 60, Burst: 3}, // its times saturate
		LeakyBucket{Limit: 2, Per: time.Second, Capacity: 4},
		FixedWindow{Limit: 4, Per: 3 * time.Second},
		CalendarWindow{Limit: 4, Unit: Minute},
		SlidingWindow{Limit: 6, Per: 4 * time.Second},
		SlidingWindow{Limit: 1, Per: time.Second},
		SlidingWindow{Limit: 100, Per: time.Minute},
	} {
		decider, err := p.Decider()
		require.NoError(t, err)
		d, ok := decider.(interface {
			WordDecider
			wordAdmitter
		})
		require.True(t, ok, "%v", p)
		random := rand.New(rand.NewPCG(1, 2))
		state, now := uint64(0), time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC).UnixNano()
		granted := 0
		for range runs.Long(3000, 1000) {
			n := random.IntN(int(d.allowance()) + 2)
			var charges []Charge
			want, a := d.DecideWord(state, now, Ask{N: n, More: true, Charges: &charges})
			got, r := d.takeWord(state, now, n)
			require.Equal(t, want, got, "%v", p)
			require.Equal(t, a.short(), r, "%v", p)
			require.Equal(t, a.MoreAfter, d.more(got, now, r), "%v: %d of %#x at %d", p, n, state, now)
			if a.Allowed && n > 0 {
				g := grant{charges: charges}
				g.set(nil, n, &a.Result, now)
				charge := make([]Charge, 1)
				d.charge(&charge[0], got, now, n, r)
				require.Equal(t, g.charges, charge, "%v", p)
				granted++
			}
			switch random.IntN(8) {
			case 0: // a debt, now and then a large one
				got, _ = d.DecideWord(state, now, Ask{N: random.IntN(40) << (random.IntN(2) * random.IntN(57)), Mode: Regardless})
			case 1:
				got, _ = d.DecideWord(state, now, Ask{N: 1, MaxWait: math.MaxInt64})
			case 2:
				got = 0
			}
			state, now = got, now+random.Int64N(int64(2*time.Second))-int64(time.Second)/2
		}
		assert.Greater(t, granted, runs.Long(300, 100), "%v", p)
	}
}

// The same holds for states of more than a word.
func TestTake_ShortWayOfWordsIsDecide(t *testing.T) {
	bucket, log := TokenBucket{Limit: 5, Per: 5 * time.Second}, SlidingLog{Limit: 6, Per: 4 * time.Second}
	thirds := TokenBucket{Limit: 3, Per: time.Second, Burst: 7} // no whole nanoseconds
	for _, p := range []Policy{
		log,
		thirds,
		FixedWindow{Limit: math.MaxInt, Per: time.Second},
		SlidingWindow{Limit: 6, Per: 4 * time.Second, Buckets: 4},
		SingleRateMarker{Committed: bucket, Excess: 3},
		TwoRateMarker{Committed: bucket, Peak: thirds},
		All(bucket, thirds, CalendarWindow{Limit: 4, Unit: Minute}),
		All(log, bucket, log, All(thirds, log)),
		Tiers(bucket, log),
		All(Tiers(bucket, thirds), log),
	} {
		d, err := p.Decider()
		require.NoError(t, err)
		short, ok := d.(admitter)
		require.True(t, ok, "%v", p)
		random := rand.New(rand.NewPCG(1, 2))
		state, now := make([]uint64, d.Words()), time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC).UnixNano()
		granted, denied := 0, 0
		for range 3000 {
			n := random.IntN(8) << (random.IntN(9) / 8 * (bits.UintSize - 4)) // now and then more than any limit
			want, a := d.Decide(slices.Clone(state), now, Ask{N: n})
			got, r, decidedBy := short.take(slices.Clone(state), now, n)
			require.Equal(t, want, got, "%v", p)
			require.Equal(t, a.short(), r, "%v", p)
			require.Equal(t, a.DecidedBy, decidedBy, "%v", p)
			require.Equal(t, a.Allowed, r.retryAfter == 0, "%v", p)
			if a.Allowed {
				granted++
			} else {
				denied++
			}
			switch random.IntN(8) {
			case 0: // a debt, now and then a large one
				got, _ = d.Decide(got, now, Ask{N: random.IntN(40) << (random.IntN(2) * random.IntN(57)), Mode: Regardless})
			case 1:
				got = make([]uint64, d.Words())
			}
			state, now = got, now+random.Int64N(int64(2*time.Second))-int64(time.Second)/2
		}
		assert.Greater(t, min(granted, denied), 10, "%v", p)
	}
}

// An expiry is asked for at the start of the window that the state counted in, and the calendar
// then keeps the window of the latest decision.
func TestCalendar_ExpiryAsksAtTheStart(t *testing.T) {
	asked := &askedSpans{calendarSpans: CalendarWindow{Unit: Month}.spans(time.UTC)}
	d := window{3, nanosPerSec, asked}.decider(calendarBits).(*windowWord)
	state, _ := d.DecideWord(0, time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC).UnixNano(), Ask{N: 1})

	assert.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixNano(), d.Expiry([]uint64{state}))
	start := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, uint64(start.Unix()), asked.known)
	assert.Equal(t, uint64(start.UnixNano()), asked.now)
}

// askedSpans record what they were asked for last.
type askedSpans struct {
	*calendarSpans
	known, now uint64
}

func (a *askedSpans) around(s words, now uint64) (mark, end uint64) {
	a.known, a.now = s.first, now
	return a.calendarSpans.around(s, now)
}

// The short ways of Allow and Take decide as Decide does, on any state and at any instant.
func TestCalendar_AdmitIsDecide(t *testing.T) {
	decider, err := CalendarWindow{Limit: 3, Unit: Hour, Location: "Asia/Kathmandu"}.Decider()
	require.NoError(t, err)
	d := decider.(*windowWord)
	assert.Implements(t, (*wordAdmitter)(nil), d)
	t0 := time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC).UnixNano() // a full hour there
	for counted := range 6 {
		state, _ := d.DecideWord(0, t0, Ask{N: counted, Mode: Regardless})
		for _, off := range []time.Duration{-48 * time.Hour, -time.Hour, -1, 0, 1, time.Hour - 1, time.Hour, 48 * time.Hour} {
			now := t0 + int64(off)
			want, a := d.DecideWord(state, now, Ask{N: 1})
			got, granted := d.admitWord(state, now)
			assert.Equal(t, a.Allowed, granted, "%d counted, after %v", counted, off)
			assert.Equal(t, want, got, "%d counted, after %v", counted, off)
			got, r := d.takeWord(state, now, 1)
			assert.Equal(t, want, got)
			assert.Equal(t, a.short(), r)
		}
	}
}

// A policy that is not known is never taken for another that becomes known at that moment. Once a
// search that had found an empty place read what another goroutine had put there since: a key was
// decided by the limit of another.
func TestR10_APolicyIsNotTakenForOneThatBecomesKnown(t *testing.T) {
	unknown := FixedWindow{Limit: 1, Per: time.Second}
	for range runs.Long(100_000, 5000) {
		k := newKnownPlans()
		var both sync.WaitGroup
		started := make(chan struct{})
		both.Go(func() {
			<-started
			for limit := 2; limit < 10; limit++ {
				k.keep(&Plan{Policy: FixedWindow{Limit: limit, Per: time.Second}})
			}
		})
		close(started)
		for range 30 {
			found, ok := k.find(unknown)
			require.True(t, ok)
			require.Nil(t, found)
		}
		both.Wait()
	}
}

// The store works, so a FailOpen must not take the error for an outage.
func TestTooManyPoliciesIsNoOutage(t *testing.T) {
	require.ErrorIs(t, errTooManyPolicies, ErrRequest)
}
