package weir

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

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
