package waiting

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// An early grant may end where a later booking does, after others between them were given back. It
// is not taken for the last: the booking stands.
func TestR17_AGrantThatEndsWhereTheLastDoesIsNotTheLast(t *testing.T) {
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3})
	var grants []*weir.Reservation
	for range 3 {
		grants = append(grants, kit.Reserve(t, l, 1))
	}
	require.NoError(t, grants[1].Cancel(background))
	require.NoError(t, grants[0].Cancel(background))
	kit.SetPolicy(t, l, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2})
	booked := kit.Reserve(t, l, 2) // both end in 3 s
	require.Equal(t, time.Second, booked.Delay())
	require.NoError(t, grants[2].Cancel(background))
	assert.Equal(t, 2*time.Second, kit.Reserve(t, l, 1).Delay())
}

// A booking by one size of a bucket is still seen after a booking by another size came and went.
func TestR17_ABookingIsSeenAfterAnotherSizeHasBooked(t *testing.T) {
	small, large := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2}, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 5}
	l, _ := kit.Frozen(small)
	first, stays := kit.Reserve(t, l, 2), kit.Reserve(t, l, 2)
	require.Equal(t, 2*time.Second, stays.Delay())
	kit.SetPolicy(t, l, large)
	require.NoError(t, kit.Reserve(t, l, 4).Cancel(background))
	require.NoError(t, first.Cancel(background))
	assert.Equal(t, 4*time.Second, kit.Reserve(t, l, 5).Delay(), "all 5 that the bucket holds, and 2 before, went after 2 s")
}

// A booking is seen by a composition that has the bucket in another size. Two events that were
// returned to it would move the bucket to before the booking.
func TestR17_ABookingIsSeenByACompositionWithAnotherSize(t *testing.T) {
	bucket, window := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3}, weir.FixedWindow{Limit: 100, Per: time.Hour}
	l, _ := kit.Frozen(weir.All(bucket, window))
	kit.Take(t, l, "k", 2)
	bucket.Burst = 1
	kit.SetPolicy(t, l, bucket)
	require.Equal(t, 2*time.Second, kit.Reserve(t, l, 1).Delay())
	require.NoError(t, l.Return(background, "k", 1))
	require.NoError(t, l.Return(background, "k", 1))
	assert.Equal(t, 3*time.Second, kit.Reserve(t, l, 1).Delay())
}
