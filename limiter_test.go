package weir_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

func TestR12_NewNamesEveryFault(t *testing.T) {
	const (
		noLimit = ".Limit is 0, must be at least 1"
		noPer   = ".Per is 0s, must be at least 1ns"
	)
	for _, test := range []struct {
		policy weir.Policy
		faults string // after the policy's name, one a line
	}{
		{weir.TokenBucket{}, noLimit + "\n" + noPer},
		{weir.LeakyBucket{}, noLimit + "\n" + noPer},
		{weir.FixedWindow{}, noLimit + "\n" + noPer},
		{weir.SlidingWindow{}, noLimit + "\n" + noPer},
		{weir.SlidingLog{}, noLimit + "\n" + noPer},

		{weir.TokenBucket{-3, -time.Second, -1}, `.Limit is -3, must be at least 1
.Per is -1s, must be at least 1ns
.Burst is -1, must be at least 0`},
		{weir.LeakyBucket{math.MinInt8, math.MinInt64, -7}, `.Limit is -128, must be at least 1
.Per is -2562047h47m16.854775808s, must be at least 1ns
.Capacity is -7, must be at least 0`},
		{weir.FixedWindow{-1, -1, true}, ".Limit is -1, must be at least 1\n.Per is -1ns, must be at least 1ns"},
		{weir.SlidingWindow{0, 0, -2}, noLimit + "\n" + noPer + "\n.Buckets is -2, must be from 0 to 100000"},
		{weir.SlidingLog{-1, -1}, ".Limit is -1, must be at least 1\n.Per is -1ns, must be at least 1ns"},

		{weir.TokenBucket{1, 1, -1}, ".Burst is -1, must be at least 0"},
		{weir.LeakyBucket{1, 1, -1}, ".Capacity is -1, must be at least 0"},
		{weir.SlidingWindow{1, time.Second, 7}, ".Buckets is 7, must be a divisor of Per, 1s"},
		{weir.SlidingWindow{1, 1, 2}, ".Buckets is 2, must be a divisor of Per, 1ns"},
		{weir.SlidingWindow{1, time.Hour, 120_000}, ".Buckets is 120000, must be from 0 to 100000"},
		{weir.SlidingWindow{0, time.Second, 3}, noLimit + "\n.Buckets is 3, must be a divisor of Per, 1s"},
	} {
		l, err := weir.New(test.policy)
		assert.Nil(t, l)
		var want []string
		for _, fault := range strings.Split(test.faults, "\n") {
			want = append(want, "weir: "+typeName(test.policy)+fault)
		}
		assert.EqualError(t, err, strings.Join(want, "\n"))
	}
}

func typeName(p weir.Policy) string {
	switch p.(type) {
	case weir.TokenBucket:
		return "weir.TokenBucket"
	case weir.LeakyBucket:
		return "weir.LeakyBucket"
	case weir.FixedWindow:
		return "weir.FixedWindow"
	case weir.SlidingWindow:
		return "weir.SlidingWindow"
	default:
		return "weir.SlidingLog"
	}
}

func TestR12_NewNamesFaultyOptionsToo(t *testing.T) {
	l, err := weir.New(weir.TokenBucket{Limit: 0, Per: time.Second}, weir.WithStore(nil), weir.WithClock(nil))
	assert.Nil(t, l)
	assert.EqualError(t, err, `weir: weir.TokenBucket.Limit is 0, must be at least 1
weir: WithStore(nil), must be a Store
weir: WithClock(nil), must be a Clock`)

	for policy, what := range map[weir.Policy]string{nil: "nil", (*weir.TokenBucket)(nil): "a nil *weir.TokenBucket"} {
		l, err = weir.New(policy, weir.WithStore(nil), nil)
		assert.Nil(t, l)
		assert.EqualError(t, err, "weir: the Policy is "+what+`, must be one
weir: WithStore(nil), must be a Store
weir: New with a nil Option`)
	}

	l, err = weir.New(minutes, weir.WithStore((*weir.MemStore)(nil)), weir.WithClock((*clock.Mock)(nil)))
	assert.Nil(t, l)
	assert.EqualError(t, err, `weir: WithStore(a nil *weir.MemStore), must be a Store
weir: WithClock(a nil *clock.Mock), must be a Clock`)
}

// unfinished is a policy of another package without a Decider.
type unfinished struct{}

func (unfinished) Decider() (weir.Decider, error) { return nil, nil }

func TestR12_NewRefusesAPolicyWithoutADecider(t *testing.T) {
	_, err := weir.New(unfinished{})
	assert.EqualError(t, err, "weir: weir_test.unfinished has the Decider nil, must be one")
	_, err = weir.New(weir.All(minutes, unfinished{}))
	assert.EqualError(t, err, "weir: component 1 of All: weir_test.unfinished has the Decider nil, must be one")
}

func TestR12_TheLeastAndTheMostAreAccepted(t *testing.T) {
	for _, limit := range []int{1, math.MaxInt} {
		for _, per := range []time.Duration{1, math.MaxInt64} {
			for _, p := range []weir.Policy{
				weir.TokenBucket{Limit: limit, Per: per, Burst: math.MaxInt},
				weir.LeakyBucket{Limit: limit, Per: per, Capacity: math.MaxInt},
				weir.FixedWindow{Limit: limit, Per: per},
				weir.FixedWindow{Limit: limit, Per: per, FromFirst: true},
				weir.SlidingWindow{Limit: limit, Per: per, Buckets: 1},
				weir.SlidingLog{Limit: limit, Per: per},
			} {
				l, err := weir.New(p)
				if assert.NoError(t, err) {
					assert.True(t, l.Allow("key"), "%#v", p)
				}
			}
		}
	}
	_, err := weir.New(weir.SlidingWindow{Limit: 1, Per: 100_000, Buckets: 100_000})
	assert.NoError(t, err)
}

// R12: a composition takes no more memory for a key than the largest single policy does, which a
// text of few bytes could ask for otherwise.
func TestR12_WordsOfACompositionAreBounded(t *testing.T) {
	window := func(words int) weir.Policy {
		return weir.SlidingWindow{Limit: 1, Per: time.Duration(words - 2), Buckets: words - 2}
	}
	for _, compose := range []func(...weir.Policy) weir.Policy{weir.All, weir.Tiers} {
		name := strings.TrimPrefix(strings.Split(fmt.Sprintf("%#v", compose(window(3))), "(")[0], "weir.")
		for _, most := range []weir.Policy{
			compose(window(100_002)),
			compose(window(50_001), compose(window(50_001))),
		} {
			_, err := weir.New(most)
			assert.NoError(t, err)
		}
		_, err := weir.New(compose(window(50_001), window(50_002)))
		assert.EqualError(t, err, "weir: "+name+" of 2 policies takes 100003 words for a key, must be at most 100002")
	}

	part := "sliding-window 1/100us buckets=100000"
	text := "all(" + part + strings.Repeat(", "+part, 99) + ")"
	_, err := weir.ParsePolicy(text)
	assert.ErrorContains(t, err, "All of 100 policies takes 10000200 words for a key, must be at most 100002")
	_, err = weir.ParsePolicy("all(" + part + ")")
	assert.NoError(t, err)
}
