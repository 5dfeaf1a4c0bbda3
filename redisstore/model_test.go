package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/change"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// R13 to R20 hold in Redis as they do in memory, whatever is combined. WEIR_MODEL_TIME says for how
// long to search.
func TestRulesWhenFeaturesMeet(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	change.Suite{
		New: func(clock weir.Clock) weir.Store {
			return newStoreWith(t, client, remote.Config{
				Prefix: fmt.Sprintf("test%d", drivenStores.Add(1)),
				Clock:  func() int64 { return clock.Now().UnixNano() }, Skew: anySkew,
			})
		},
		Grain: time.Microsecond,
	}.Run(t)
	require.NoError(t, client.FlushAll(t.Context()).Err())
}

// R16, R17: markers undo their grants, the last first, as in memory.
func TestR17_MarkersUndoGrantsLastFirst(t *testing.T) {
	t.Parallel()
	s := newDriven(t, newClient(t, redistest.Single(t).Addr()), anySkew)
	for seed := range runs.Long[uint64](2_500, 60) {
		r := rand.New(rand.NewPCG(seed, 1))
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		store := storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			s.set(clock.Time)
			return s.Do(ctx, r)
		})
		kit.UndoLastFirst(t, r, kit.SomeMarker(r), store, clock, fmt.Sprint(seed))
	}
}
