package exact

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rates are those of all edges.
func rates() (all []Rate) {
	for _, limit := range edges {
		for _, per := range edges {
			if limit, per := int(limit), time.Duration(per); limit > 0 && per > 0 {
				all = append(all, NewRate(limit, per))
			}
		}
	}
	return all
}

func TestNewRate(t *testing.T) {
	for _, limit := range edges {
		for _, per := range edges {
			if limit, per := int(limit), time.Duration(per); limit > 0 && per > 0 {
				checkNewRate(t, limit, per)
			}
		}
	}
}

func checkNewRate(t *testing.T, limit int, per time.Duration) {
	want := big.NewRat(int64(per), int64(limit)) // in lowest terms
	r := NewRate(limit, per)
	require.Equal(t, want.Num(), num(r.Num), "of the time of an event, for %d per %d ns", limit, per)
	require.Equal(t, want.Denom(), num(r.Den), "of the time of an event, for %d per %d ns", limit, per)
}

// The same rate compares equal, however it is written.
func TestNewRate_Equal(t *testing.T) {
	assert.Equal(t, Rate{1_000_000_000, 7}, NewRate(7, time.Second))
	assert.Equal(t, NewRate(7, time.Second), NewRate(420, time.Minute))
	assert.Equal(t, NewRate(1, time.Millisecond), NewRate(1000, time.Second))
	assert.NotEqual(t, NewRate(1000, time.Second), NewRate(999, time.Second))
}

func TestRate_UnitsAndCost(t *testing.T) {
	for _, r := range rates() {
		for _, n := range edges {
			checkUnitsAndCost(t, r, n)
		}
	}
}

// checkUnitsAndCost compares the units of n nanoseconds, and of n events.
func checkUnitsAndCost(t *testing.T, r Rate, n uint64) {
	if ns := int64(n); ns >= 0 {
		units := r.Units(ns)
		require.Equal(t, times(num(n), num(r.Den)), units.big(), "%d ns of %+v", n, r)
		require.LessOrEqual(t, units.big().BitLen(), 126)
		require.Equal(t, time.Duration(ns), r.Ceil(units), "%d ns of %+v and back", n, r)
		require.Equal(t, time.Duration(ns), r.Floor(units), "%d ns of %+v and back", n, r)
	}
	cost := r.Cost(n)
	require.Equal(t, times(num(n), num(r.Num)), cost.big(), "%d events of %+v", n, r)
	require.LessOrEqual(t, cost.big().BitLen(), 127)
	require.Equal(t, int(atMost(num(n), mostInt).Int64()), r.Events(cost), "%d events of %+v and back", n, r)
}

func TestRate_EventsCeilFloor(t *testing.T) {
	all := edges128()
	for _, r := range rates() {
		for _, u := range all {
			checkUnits(t, r, u)
		}
	}
}

// checkUnits compares what u units are in events, and in nanoseconds. It calls require as rarely as
// checkPair does.
func checkUnits(t *testing.T, r Rate, u Uint128) {
	x, den := u.big(), num(r.Den)
	if want := atMost(over(x, num(r.Num)), mostInt).Int64(); int64(r.Events(u)) != want {
		require.Equal(t, want, int64(r.Events(u)), "whole events of %+v in %v", r, u)
	}
	if want := atMost(over(x, den), mostInt64).Int64(); int64(r.Floor(u)) != want {
		require.Equal(t, want, int64(r.Floor(u)), "ns of %+v in %v, rounded down", r, u)
	}
	if want := atMost(over(plus(x, minus(den, one)), den), mostInt64).Int64(); int64(r.Ceil(u)) != want {
		require.Equal(t, want, int64(r.Ceil(u)), "ns of %+v in %v, rounded up", r, u)
	}
	at, want := r.Instant(u), Instant{NS: int64(r.Ceil(u))}
	if rest := minus(times(big.NewInt(want.NS), den), x); rest.Sign() > 0 { // none at the end of 292 years
		want.Rest = rest.Uint64()
	}
	if at != want || at.NS < mostInt64.Int64() && r.At(at) != u {
		require.Equal(t, want, at, "the instant of %+v in %v, and back: %v", r, u, r.At(at))
		require.Equal(t, u, r.At(at), "the instant of %+v in %v", r, u)
	}
}
