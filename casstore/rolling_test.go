package casstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
)

// rolledOut is a policy of another package, with words of its own.
type rolledOut struct {
	weir.SlidingLog
	release int
}

func (p rolledOut) Decider() (weir.Decider, error) {
	d, err := p.SlidingLog.Decider()
	return struct{ weir.Decider }{d}, err
}

// While a release is rolled out, some processes have a policy that others can't know. Both decide on
// the same keys (R13, R14, R21).
func TestR14_RollingChange(t *testing.T) {
	const limit = 12
	bucket := weir.TokenBucket{Limit: limit, Per: time.Hour}
	strange := rolledOut{weir.SlidingLog{Limit: limit, Per: time.Hour}, 1}
	for _, next := range []weir.Policy{
		strange,
		weir.All(bucket, strange),
		weir.All(strange, bucket),
		weir.Tiers(bucket, strange),
		weir.All(weir.All(weir.FixedWindow{Limit: limit, Per: time.Hour}, strange), bucket),
	} {
		for _, old := range []weir.Policy{
			bucket,
			weir.FixedWindow{Limit: limit, Per: time.Hour},
			weir.All(weir.SlidingLog{Limit: limit, Per: time.Hour}, bucket),
		} {
			synctest.Test(t, func(t *testing.T) {
				hours := runs.Long(40, 8)
				registers := newMemory()
				var ls []*weir.KeyedLimiter
				for _, p := range []weir.Policy{old, next} { // each process has a store of its own
					s := casstore.New(registers, casstore.Options{})
					ls = append(ls, newLimiter(t, s, p, weir.WithName("n")))
				}
				granted := 0
				for i := range 30 * hours {
					r, err := ls[i*i%7%2].Take(context.Background(), "k", 1)
					require.NoError(t, err, "%v and %v", old, next)
					if r.Allowed {
						granted++
					}
					time.Sleep(time.Hour / 30)
				}
				assert.LessOrEqual(t, granted, 2*limit*(hours+2), "%v and %v", old, next)
				assert.GreaterOrEqual(t, granted, limit*hours/2, "%v and %v", old, next)
			})
		}
	}
}

// R14, R15: a policy that other processes can't know has become a component of one that they have.
// Both count in one account.
func TestR14_PartOfARollingChange(t *testing.T) {
	strange := rolledOut{weir.SlidingLog{Limit: 12, Per: time.Hour}, 1}
	bucket := weir.TokenBucket{Limit: 100, Per: time.Hour}
	for _, next := range []weir.Policy{weir.All(strange, bucket), weir.All(bucket, strange), weir.Tiers(strange)} {
		for _, first := range []weir.Policy{strange, next} {
			now := stopped(time.Unix(1_700_000_000, 0))
			registers := newMemory()
			a := newLimiter(t, casstore.New(registers, casstore.Options{}), first, weir.WithName("n"), weir.WithClock(now))
			take(t, a, 4)
			for _, p := range []weir.Policy{next, strange} {
				require.NoError(t, a.SetPolicy(t.Context(), p))
				take(t, a, 1)
			}
			b := newLimiter(t, casstore.New(registers, casstore.Options{}), next, weir.WithName("n"), weir.WithClock(now))
			granted, _, err := b.TakeUpTo(t.Context(), "k", 100)
			require.NoError(t, err, "first %v, then %v", first, next)
			assert.Equal(t, 6, granted, "first %v, then %v", first, next)
			assert.False(t, a.Allow("k"))
		}
	}
}

// R6: what a process can't know ends when it ended, however often such a process writes.
func TestR6_EndOfWhatIsNotKnown(t *testing.T) {
	now := stopped(time.Unix(1_700_000_000, 0))
	registers := newMemory()
	a := newLimiter(t, casstore.New(registers, casstore.Options{}), rolledOut{weir.SlidingLog{Limit: 12, Per: time.Hour}, 1},
		weir.WithName("n"), weir.WithClock(now))
	take(t, a, 1)
	b := newLimiter(t, casstore.New(registers, casstore.Options{}), weir.TokenBucket{Limit: 100, Per: time.Minute},
		weir.WithName("n"), weir.WithClock(now))
	for range 10 {
		assert.Equal(t, time.Hour, take(t, b, 1).ResetAfter)
	}
}
