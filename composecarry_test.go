package weir_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

var (
	aMinute = weir.TokenBucket{Limit: 60, Per: time.Minute}
	aDay    = weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour}
	aYear   = weir.CalendarWindow{Limit: 50_000, Unit: weir.Year, Location: "Europe/Berlin"}
	aMonth  = weir.FixedWindow{Limit: 20_000, Per: 30 * 24 * time.Hour}
)

// changed is the key after its policy has become p at now, and whether it was carried exactly.
func (k *pureKey) changed(t *testing.T, p weir.Policy, now int64) (*pureKey, bool) {
	d, err := p.Decider()
	require.NoError(t, err)
	state, exact := weir.Carry(k.Decider, d, k.copy().state, now)
	return &pureKey{d, state}, exact
}

// left is what the parts have left.
func (k *pureKey) left(now int64) []int {
	var parts []weir.Result
	a := k.ask(now, weir.Ask{Parts: &parts})
	if parts == nil {
		return []int{a.Remaining}
	}
	var left []int
	for _, r := range parts {
		left = append(left, r.Remaining)
	}
	return left
}

// A key used 600 of the day in the first hours, and in the last minute 30.
func usedKey(t *testing.T, p weir.Policy) (k *pureKey, now int64) {
	k, now = newKey(t, p), t0/int64(30*24*time.Hour)*int64(30*24*time.Hour)
	for range 20 {
		require.True(t, k.take(now, 30).Allowed)
		now += int64(time.Minute)
	}
	require.True(t, k.take(now, 30).Allowed)
	return k, now
}

func TestCarryOfCompositions(t *testing.T) {
	two := weir.TokenBucket{Limit: 120, Per: time.Minute}
	log := weir.SlidingLog{Limit: 100, Per: time.Hour}
	for _, c := range []struct {
		name     string
		from, to weir.Policy
		left     []int
		exact    bool
	}{
		{"a part is added", weir.All(aMinute, aDay), weir.All(aMinute, aDay, aMonth), []int{30, 370, 20_000}, true},
		{"a part is added in front", weir.All(aMinute, aDay), weir.All(aMonth, aMinute, aDay), []int{20_000, 30, 370}, true},
		{"a part is dropped", weir.All(aMinute, aDay), weir.All(aDay), []int{370}, true},
		{"parts change their places", weir.All(aMinute, aDay), weir.All(aDay, aMinute), []int{370, 30}, true},
		{"limits change", weir.All(aMinute, aDay), weir.All(two, weir.FixedWindow{Limit: 700, Per: aDay.Per}), []int{60, 70}, true},
		{"one of the kinds changes", weir.All(aMinute, aDay), weir.All(log, aDay), []int{50, 370}, false},
		{"one changes, and one is added", weir.All(aMinute, aDay), weir.All(two, aDay, aMonth), []int{60, 370, 19_970}, false},
		{"all change, and there are fewer", weir.All(aMinute, aDay), weir.All(log), []int{37}, false},
		{"one becomes several", aMinute, weir.All(aDay, aMinute), []int{1000, 30}, true},
		{"several become one of them", weir.All(aMinute, aDay), aDay, []int{370}, true},
		{"several become another", weir.All(aMinute, aDay), log, []int{37}, false},
		{"a calendar stays", weir.All(aMinute, aYear), aYear, []int{49_370}, true},
		{"a calendar is joined", aYear, weir.All(aMinute, aYear), []int{60, 49_370}, true},
		{"tiers are joined", weir.Tiers(aYear, aDay), weir.All(aMinute, weir.Tiers(aYear, aDay)), []int{60, 49_370}, true},
		{"a part of a part changes", weir.All(aMonth, weir.All(aMinute, aDay)), weir.All(aMonth, weir.All(two, aDay)), []int{19_370, 60}, true},

		{"tiers change", weir.Tiers(aMinute, aDay), weir.Tiers(two, aDay), []int{60, 1000}, true},
		{"a tier is added", weir.Tiers(aMinute, aDay), weir.Tiers(aMinute, aDay, aMonth), []int{30, 500, 10_000}, false},
		{"a tier is dropped", weir.Tiers(aMinute, aDay), weir.Tiers(aDay), []int{500}, false},
		{"a marker's rate changes", weir.SingleRateMarker{Committed: aMinute, Excess: 10}, weir.SingleRateMarker{Committed: two, Excess: 20}, []int{60}, true},
		{"a marker's peak changes", weir.TwoRateMarker{Committed: aMinute, Peak: two}, weir.TwoRateMarker{Committed: aMinute, Peak: weir.TokenBucket{Limit: 240, Per: time.Minute}}, []int{180}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, now := usedKey(t, c.from)
			to, exact := k.changed(t, c.to, now)
			assert.Equal(t, c.exact, exact)
			assert.Equal(t, c.left, to.left(now))
		})
	}
}

// P10: a limit that changes to and fro gains nothing, whatever is composed: no more is granted than the larger of
// the two allows alone.
func TestP10_CompositionsToAndFro(t *testing.T) {
	small, large := weir.TokenBucket{Limit: 7, Per: century}, weir.FixedWindow{Limit: 23, Per: century}
	log := weir.SlidingLog{Limit: 11, Per: century}
	policies := []weir.Policy{
		small, large, log,
		weir.All(small, large), weir.All(large, small), weir.All(small, large, log), weir.All(log, weir.All(large, small)),
		weir.Tiers(small), weir.Tiers(small, large), weir.Tiers(large, log, small),
		weir.All(large, weir.Tiers(small, log)),
		weir.SingleRateMarker{Committed: small, Excess: 9},
		weir.SingleRateMarker{Committed: small, Excess: 4},
		weir.TwoRateMarker{Committed: small, Peak: weir.TokenBucket{Limit: 13, Per: century}},
	}
	for _, p := range policies {
		for _, q := range policies {
			for n := 1; n <= shorter(8, 2); n++ {
				alone := max(granted(t, n, p), granted(t, n, q))
				assert.LessOrEqual(t, granted(t, n, p, q), alone, "%#v and %#v, up to %d at once", p, q, n)
			}
		}
	}
}

// granted is how many events limiters of one name grant in turn to asks for 1 to n of them, at a frozen clock.
func granted(t *testing.T, n int, policies ...weir.Policy) int {
	store, clock := new(weir.MemStore), &handClock{time.Unix(0, t0)}
	var ls []*weir.Keyed
	for _, p := range policies {
		ls = append(ls, weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(clock))))
	}
	sum := 0
	for turn := range 100 {
		r, err := ls[turn%len(ls)].Take(t.Context(), "key", 1+turn%n)
		require.NoError(t, err)
		if r.Allowed {
			sum += 1 + turn%n
		}
	}
	return sum
}
