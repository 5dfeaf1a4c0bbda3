package weir_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// P23: a policy that is changed every second, for years, or limiters that come and go on one store,
// do not fill the memory with policies that nobody uses.
func TestP23_PoliciesThatAreGone(t *testing.T) {
	store, mock := new(weir.MemStore), clock.NewMock()
	churn := func(first int) {
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(store), weir.WithClock(mock)))
		for i := range 100 {
			require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: first + i, Per: time.Hour}))
			l.Allow("a key that is carried from one to the next")
			l.Allow(kit.KeyName(first + i)) // one that keeps its policy
		}
	}
	for i := range 10 {
		churn(2 + 100*i)
		runtime.GC()
	}
	mock.Add(time.Hour)
	require.Eventually(t, func() bool {
		runtime.GC()
		last := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(store), weir.WithClock(mock)))
		for i := range 2000 {
			last.Allow(kit.KeyName(i)) // lets the store sweep
		}
		return weir.Writers(store) <= 10
	}, time.Minute, time.Millisecond)
}

// A policy whose keys are still counted is remembered, though no limiter has it any more.
func TestPoliciesOfKeysThatCount(t *testing.T) {
	store, mock := new(weir.MemStore), clock.NewMock()
	old := weir.TokenBucket{Limit: 2, Per: time.Hour}
	l := weir.Must(weir.New(old, weir.WithStore(store), weir.WithClock(mock)))
	require.True(t, l.Allow("k"))
	require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: 4, Per: time.Hour}))
	for range 20 {
		runtime.GC()
	}
	assert.Equal(t, 2, kit.Take(t, l, "k", 0).Remaining)
}
