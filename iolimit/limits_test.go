package iolimit_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
)

// Chunks are equal parts of what is granted at once, neither too small nor too large.
func TestChunks(t *testing.T) {
	for burst, chunk := range map[int]int{
		1: 1, 100: 100, 512: 512, 1000: 1000, 1023: 1023, 1024: 512, 4000: 571,
		8000: 1000, 100_000: 12_500, 128 << 10: 16 << 10, 200_000: 15_384, 1 << 30: 16 << 10,
	} {
		l := &flaky{KeyedLimiter: weir.Must(weir.New(weir.TokenBucket{Limit: burst, Per: time.Nanosecond}))}
		w := iolimit.NewWriter(t.Context(), io.Discard, iolimit.Limit{Limiter: l})
		_, err := w.Write(make([]byte, 2*chunk))
		require.NoError(t, err)
		assert.Equal(t, []int{chunk, chunk}, l.waits, "burst %d", burst)
	}
}

// A limit on trial has the chunks that it would have when enforced. While its store is away, they
// are small, but not tiny.
func TestChunks_OfAShadow(t *testing.T) {
	store := new(kit.Faulty)
	tiers := weir.Tiers(weir.TokenBucket{Limit: 1000, Per: time.Second}, weir.TokenBucket{Limit: 1 << 20, Per: time.Second})
	l := iolimit.Limit{Limiter: weir.Shadow(weir.Must(weir.New(tiers, weir.WithStore(store))), nil), Key: "k"}
	for _, c := range []struct {
		down  bool
		chunk int
	}{{false, 1000}, {true, 512}} {
		store.Down.Store(c.down)
		var out sink
		_, err := iolimit.NewWriter(t.Context(), &out, l).Write(make([]byte, 5000))
		require.NoError(t, err)
		assert.Equal(t, c.chunk, out.passed[0].n, "down: %v", c.down)
	}
}

// All tiers pay, because a chunk fits into each of them. One that has no room for a chunk of 512
// bytes does not make chunks smaller.
func TestTiersAllPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limitOf(weir.Tiers(
			weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 100},
			weir.TokenBucket{Limit: 8000, Per: time.Second, Burst: 800},
			weir.TokenBucket{Limit: 8000, Per: time.Second, Burst: 8000},
		))
		var out sink
		start := time.Now()
		_, err := iolimit.NewWriter(t.Context(), &out, l).Write(make([]byte, 168_000))
		require.NoError(t, err)
		assert.Equal(t, 800, out.passed[0].n)
		assert.Less(t, time.Since(start), 11*time.Second, "at 16,000 bytes a second, with little left unused")
	})
}

// Tiers within All count as their largest tier. As a limit of their own, all of them can pay.
func TestTiersWithinAll(t *testing.T) {
	tiers := weir.Tiers(weir.TokenBucket{Limit: 800, Per: time.Second}, weir.TokenBucket{Limit: 8000, Per: time.Second})
	total := weir.TokenBucket{Limit: 1 << 20, Per: time.Second}
	for chunk, limits := range map[int][]iolimit.Limit{
		1000: {limitOf(weir.All(tiers, total))},
		800:  {limitOf(tiers), limitOf(total)},
	} {
		var out sink
		_, err := iolimit.NewWriter(t.Context(), &out, limits...).Write(make([]byte, 5000))
		require.NoError(t, err)
		assert.Equal(t, chunk, out.passed[0].n)
	}
}

// With every policy, all bytes pass, in order, and the limit counts each of them once. A policy of
// n bytes an instant lets three times n pass within three times its span.
func TestEveryPolicy(t *testing.T) {
	const limit = 4096
	policies := kit.AllPolicies(limit, time.Second)
	policies = append(policies, weir.All(weir.TokenBucket{Limit: limit, Per: time.Second}, weir.FixedWindow{Limit: 50_000, Per: time.Hour}))
	kit.EachInBubble(t, policies, func(t *testing.T, p weir.Policy) {
		data := bytesOf(3 * limit)
		for name, move := range map[string]func(iolimit.Limit, io.Writer) error{
			"Reader": func(l iolimit.Limit, w io.Writer) error {
				_, err := io.Copy(w, iolimit.NewReader(t.Context(), bytes.NewReader(data), l))
				return err
			},
			"Writer": func(l iolimit.Limit, w io.Writer) error {
				_, err := iolimit.NewWriter(t.Context(), w, l).Write(data)
				return err
			},
		} {
			var out sink
			start := time.Now()
			require.NoError(t, move(limitOf(p), &out), name)
			assert.Equal(t, data, out.Bytes(), name)
			assert.LessOrEqual(t, time.Since(start), 3*time.Second, name)
			out.within(t, func(span time.Duration) int { return 2*limit + int(limit*span/time.Second) })
		}
	})
}

// A limit that shrinks between two chunks, or below one that waits, only makes chunks smaller. When
// it grows they grow, too.
func TestPolicyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &flaky{KeyedLimiter: weir.Must(weir.New(weir.TokenBucket{Limit: 8 << 10, Per: time.Second}))}
		w := iolimit.NewWriter(t.Context(), io.Discard, iolimit.Limit{Limiter: l})
		write := func(n int) {
			_, err := w.Write(make([]byte, n))
			require.NoError(t, err)
		}
		write(1000)
		kit.SetPolicy(t, l.KeyedLimiter, weir.TokenBucket{Limit: 300, Per: time.Second})
		write(1000)
		assert.Equal(t, []int{1000, 1000, 300, 300, 300, 100}, l.waits)

		kit.SetPolicy(t, l.KeyedLimiter, weir.TokenBucket{Limit: 1 << 20, Per: time.Second})
		l.waits = nil
		write(100_000)
		assert.Equal(t, 16<<10, l.waits[len(l.waits)-2])
	})
}

// If a limit shrinks below a chunk that waits for it, no more passes afterwards than it then allows:
// the chunk passes in parts.
func TestPolicyChanges_NoBurstAfter(t *testing.T) {
	small := weir.TokenBucket{Limit: 100, Per: time.Second, Burst: 100}
	for name, move := range map[string]func(*testing.T, *sink, ...iolimit.Limit){
		"read": func(t *testing.T, s *sink, l ...iolimit.Limit) {
			assert.Equal(t, bytesOf(5096), s.readAll(t, iolimit.NewReader(t.Context(), bytes.NewReader(bytesOf(5096)), l...), 5096))
		},
		"write": func(t *testing.T, s *sink, l ...iolimit.Limit) {
			_, err := iolimit.NewWriter(t.Context(), s, l...).Write(bytesOf(5096))
			require.NoError(t, err)
			assert.Equal(t, bytesOf(5096), s.Bytes())
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := weir.Must(weir.New(weir.TokenBucket{Limit: 4096, Per: time.Second}))
			var out sink
			time.AfterFunc(time.Millisecond, func() { kit.SetPolicy(t, l, small) })
			start := time.Now()
			move(t, &out, limitOf(roomy), iolimit.Limit{Limiter: l})
			assert.InDelta(t, 10*time.Second, time.Since(start), float64(time.Second), name)
			out.passed = slices.DeleteFunc(out.passed, func(p passage) bool { return p.at.Equal(start) })
			assert.Equal(t, 1000, out.total(), name)
			out.within(t, most(small, 0))
		})
	}
}

// The last of several limits is exact in every span. The one before it is exceeded by at most a
// chunk. The slower of both sets the pace.
func TestSeveralLimits(t *testing.T) {
	for _, own := range []int{3000, 30_000} {
		t.Run(fmt.Sprint(own), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := weir.TokenBucket{Limit: own, Per: time.Second, Burst: 2000}
				last := weir.TokenBucket{Limit: 10_000, Per: time.Second, Burst: 4096}
				var out sink
				w := iolimit.NewWriter(t.Context(), &out, limitOf(first), limitOf(last))
				start := time.Now()
				_, err := w.Write(make([]byte, 50_000))
				require.NoError(t, err)

				slower := last
				if own < last.Limit {
					slower = first
				}
				took := time.Duration(50_000-slower.Burst) * time.Second / time.Duration(slower.Limit)
				assert.InDelta(t, took, time.Since(start), float64(time.Microsecond))
				out.within(t, most(last, 0))
				out.within(t, most(first, 667))
			})
		})
	}
}

// Without limits everything passes, in one piece.
func TestNoLimits(t *testing.T) {
	var out sink
	_, err := iolimit.NewWriter(t.Context(), &out).Write(make([]byte, 1<<20))
	require.NoError(t, err)
	assert.Len(t, out.passed, 1)
	n, err := iolimit.NewReader(t.Context(), &out).Read(make([]byte, 1<<20))
	require.NoError(t, err)
	assert.Equal(t, 1<<20, n)
}

// A Limit without a Limiter lets nothing pass.
func TestNoLimiter(t *testing.T) {
	var out sink
	n, err := iolimit.NewWriter(t.Context(), &out, iolimit.Limit{Key: "k"}).Write([]byte("ab"))
	require.EqualError(t, err, "weir: Limit.Limiter is nil, must be a Limiter")
	assert.Zero(t, n)
	_, err = iolimit.NewReader(t.Context(), &out, iolimit.Limit{Key: "k"}).Read(make([]byte, 1))
	require.EqualError(t, err, "weir: Limit.Limiter is nil, must be a Limiter")
	assert.Zero(t, out.Len())
}
