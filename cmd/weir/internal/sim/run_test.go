package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A lane shows the answers that a limiter gives to a program that asks at the same instants.
func TestOnceIsTake(t *testing.T) {
	for _, policy := range []string{
		"10/1s", "leaky-bucket+10/1s", "fixed-window+10/1s", "fixed-window+10/1s+from-first", "sliding-window+10/1s",
		"sliding-window+10/1s+buckets%3D5", "sliding-log+10/1s", "calendar-window+10/minute",
		"all(10/1s,+sliding-log+20/5s)", "tiers(5/1s,+sliding-log+20/5s)", "single-rate-marker+10/1s+burst%3D5+excess%3D5",
	} {
		t.Run(policy, func(t *testing.T) {
			r := ran(t, "p="+policy+"&r=15&x=poisson&b=3s:30&t=10s")
			got := answers(r, 0)
			now := new(clock)
			l, err := weir.New(r.scenario.Lanes[0].Policy, weir.WithClock(now))
			require.NoError(t, err)
			arrivals := r.scenario.arrivals()
			require.Len(t, got, len(arrivals))
			for i, at := range arrivals {
				now.now = at
				want, err := l.TakeByComponent(context.Background(), "x", 1, nil)
				require.NoError(t, err)
				require.Equal(t, want, got[i].Result)
				require.Equal(t, time.Duration(at), got[i].At)
				require.Equal(t, want.Allowed, got[i].Kind == Granted)
			}
		})
	}
}

// It does not matter in which steps a simulation advances.
func TestAdvanceInSteps(t *testing.T) {
	for _, e := range Experiments {
		whole := ran(t, e.Query)
		s, err := Parse(e.Query)
		require.NoError(t, err)
		steps, err := New(s)
		require.NoError(t, err)
		for at := time.Duration(0); at < s.Span+time.Second; at += 16_666_667 {
			require.NoError(t, steps.Advance(at))
		}
		for i := range s.Lanes {
			require.Equal(t, whole.Records(i), steps.Records(i), "%s, lane %d", e.ID, i)
		}
	}
}

// Clients that obey come back at the instant that they were told, and those that hammer each 200th.
func TestClientsComeBack(t *testing.T) {
	r := ran(t, "p=fixed-window+1/1s&r=0&b=100ms:2&t=10s&c=obey")
	got := answers(r, 0)
	require.Len(t, got, 3)
	assert.Equal(t, Record{
		Kind: Granted, Tries: 1, Came: 100 * ms, At: time.Second,
		Result: weir.Result{Allowed: true, Limit: 1, ResetAfter: time.Second, MoreAfter: time.Second},
	}, got[2])

	r = ran(t, "p=fixed-window+1/1s&r=0&b=100ms:2&t=10s&c=hammer")
	got = answers(r, 0)
	require.Len(t, got, 2+18)
	assert.Equal(t, []time.Duration{100 * ms, time.Second}, grants(r, 0))
	assert.Equal(t, 18, got[19].Tries)

	r = ran(t, "p=sliding-log+4/1h&r=0&b=100ms:8&t=10s&c=mixed")
	f := r.Figures(0, 10*time.Second)
	assert.Equal(t, 4, f.Granted)
	assert.Equal(t, 2, f.Hammered)
	assert.Equal(t, 2+2*(198+1), f.Denied, "those who obey know that it is too late")
}

// An answer at the instant of a change is of the policy that is told then, also to a client that
// comes back at that instant.
func TestChangeComesFirst(t *testing.T) {
	for _, clients := range []string{"hammer", "obey", "wait", "once"} {
		r := ran(t, "p=fixed-window+4/1s~8s~fixed-window+2/1s&r=0&b=7s:30,8s:5&t=20s&c="+clients)
		at := 0
		for _, rec := range answers(r, 0) {
			if rec.Kind == Waits {
				continue
			}
			limit := 4
			if rec.At >= 8*time.Second {
				limit = 2
			}
			require.Equal(t, limit, rec.Result.Limit, "%s: %+v", clients, rec)
			if rec.At == 8*time.Second {
				at++
			}
		}
		assert.Positive(t, at, clients)
	}
}

func TestFullLane(t *testing.T) {
	r := ran(t, "p=sliding-log+1/24h&r=0&b=0s:2000&t=10s&c=hammer")
	assert.True(t, r.Full(0))
	assert.Len(t, r.Records(0), maxRecords)
}

// Figures of the past are the figures that were shown then, and Busiest is that of a count by hand.
func TestFigures(t *testing.T) {
	for _, e := range Experiments {
		r := ran(t, e.Query)
		for i := range r.scenario.Lanes {
			last := r.Figures(i, r.scenario.Span)
			went := grants(r, i)
			busiest := 0
			for a, from := range went {
				n := 0
				for _, at := range went[a:] {
					if at < from+r.scenario.Measure {
						n++
					}
				}
				busiest = max(busiest, n)
			}
			assert.Equal(t, busiest, last.Busiest, e.ID)
			assert.Len(t, went, last.Granted)
			half := r.Figures(i, r.scenario.Span/2)
			assert.LessOrEqual(t, half.Granted, last.Granted)
			assert.Equal(t, last, r.Figures(i, r.scenario.Span))
			assert.Equal(t, half, r.Figures(i, r.scenario.Span/2))
			assert.GreaterOrEqual(t, last.Waiting, 0)
		}
	}
}
