package weir_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestReturn_GivesBack(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, _ := kit.Frozen(p)
		fresh := kit.Take(t, l, "k", 0)
		n := 5
		if _, isQueue := p.(weir.LeakyBucket); isQueue {
			n = 1 // what occupies the outlet for longer may be somebody's place (R17)
		}
		kit.Take(t, l, "k", n)
		require.NoError(t, l.Return(background, "k", 0))
		assert.NotEqual(t, fresh, kit.Take(t, l, "k", 0))
		require.NoError(t, l.Return(background, "k", n))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0))
		require.NoError(t, l.Return(background, "k", math.MaxInt))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0), "never more than a full allowance")
		require.NoError(t, l.Return(background, "never seen", 3))
		assert.Equal(t, fresh, kit.Take(t, l, "never seen", 0))
	})
}

func TestReset_Forgets(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, _ := kit.Frozen(p)
		fresh := kit.Take(t, l, "k", 0)
		kit.Take(t, l, "other", 3)
		other := kit.Take(t, l, "other", 0)
		require.NoError(t, kit.Reserve(t, l, 5).Settle(background, 50))
		require.NoError(t, l.Reset(background, "k"))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0))
		assert.Equal(t, other, kit.Take(t, l, "other", 0))
		require.NoError(t, l.Reset(background, "never seen"))
	})
}
