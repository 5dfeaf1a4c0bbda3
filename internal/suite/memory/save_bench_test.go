package memory

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// million is a store with a million keys, of states of one word and of several.
func million(b *testing.B, p weir.Policy) *weir.MemStore {
	keys, store := runs.Keys(1_000_000), new(weir.MemStore)
	l := weir.Must(weir.New(p, weir.WithStore(store)))
	for i := range keys {
		l.Allow(kit.KeyName(i))
	}
	require.Equal(b, keys, store.Len())
	return store
}

var savedPolicies = map[string]weir.Policy{
	"TokenBucket": weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour},
	"SlidingLog":  weir.SlidingLog{Limit: 100, Per: 1000 * time.Hour},
}

func BenchmarkSave(b *testing.B) {
	for name, p := range savedPolicies {
		b.Run("policy="+name+"/keys=1000000", func(b *testing.B) {
			store := million(b, p)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, store.Save(io.Discard))
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, p := range savedPolicies {
		b.Run("policy="+name+"/keys=1000000", func(b *testing.B) {
			var file bytes.Buffer
			require.NoError(b, million(b, p).Save(&file))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, new(weir.MemStore).Load(bytes.NewReader(file.Bytes())))
			}
		})
	}
}
