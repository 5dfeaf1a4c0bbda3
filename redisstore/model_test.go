package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/change"
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
