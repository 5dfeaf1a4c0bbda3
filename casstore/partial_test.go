package casstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// observed is a policy of another package. Its name in a value does not say which function it has.
type observed struct {
	weir.Policy
	observe func()
}

func (p observed) Decider() (weir.Decider, error) {
	d, err := p.Policy.Decider()
	return struct{ weir.Decider }{d}, err
}

// A limiter reads what others of its store have counted, also by policies with functions in them.
func TestPoliciesWithFunctions(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 9, Per: time.Hour}
	one := observed{bucket, func() {}}
	for _, other := range []weir.Policy{
		observed{weir.SlidingLog{Limit: 9, Per: time.Hour}, func() {}},
		weir.All(bucket, observed{weir.SlidingLog{Limit: 9, Per: time.Hour}, func() {}}),
	} {
		s := casstore.New(newMemory(), casstore.Options{})
		a := newLimiter(t, s, one, weir.WithName("n"))
		b := newLimiter(t, s, other, weir.WithName("n"))
		for i := range 4 {
			for _, l := range []*weir.KeyedLimiter{a, b} {
				r, err := l.Take(context.Background(), "k", 1)
				require.NoError(t, err, "%#v, %d", other, i)
				assert.True(t, r.Allowed, "%#v, %d", other, i)
			}
		}
	}
}
