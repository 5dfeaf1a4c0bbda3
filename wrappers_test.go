package weir_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

var badMem = &weir.MemStore{MaxKeys: -1}

var notMadeRight = []struct {
	store weir.Store
	want  string
}{
	{weir.FailOpen(nil, nil), "weir: FailOpen with a nil store, must be a Store"},
	{weir.FailOpen(badMem, nil), "weir: MemStore.MaxKeys is -1, must be at least 0"},
	{
		weir.FailOpen(weir.DenyCache(nil, weir.DenyCacheOptions{MaxKeys: -2, MaxAge: -3}), nil),
		"weir: DenyCache with a nil store, must be a Store\n" +
			"weir: DenyCacheOptions.MaxKeys is -2, must be from 0 to 10000000\n" +
			"weir: DenyCacheOptions.MaxAge is -3ns, must be at least 0",
	},
	{
		weir.Fallback(nil, badMem, weir.FallbackOptions{Budget: -1, CoolDown: -2, MaxInFlight: -3}),
		"weir: Fallback with a nil first store, must be a Store\n" +
			"weir: MemStore.MaxKeys is -1, must be at least 0\n" +
			"weir: FallbackOptions.Budget is -1ns, must be at least 0\n" +
			"weir: FallbackOptions.CoolDown is -2ns, must be at least 0\n" +
			"weir: FallbackOptions.MaxInFlight is -3, must be at least 0",
	},
	{weir.Fallback(new(weir.MemStore), nil, weir.FallbackOptions{}), "weir: Fallback with a nil second store, must be a Store"},
}

// A store that was not made right decides nothing, and tells all that is wrong with it, however
// deep it is wrapped. [weir.FailOpen] does not take that for an outage.
func TestWrappers_NotMadeRight(t *testing.T) {
	for _, test := range notMadeRight {
		a, err := test.store.Do(context.Background(), weir.Request{Plan: planOf(weir.TokenBucket{Limit: 1, Per: 1})})
		assert.Equal(t, weir.Answer{}, a)
		assert.EqualError(t, err, test.want)
	}
}
