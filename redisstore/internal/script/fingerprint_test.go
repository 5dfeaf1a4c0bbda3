package script

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// embedding has the text form of the policy that it embeds, which does not tell of its other fields.
type embedding struct {
	weir.TokenBucket
	other any
}

func TestFingerprintsTellPoliciesApart(t *testing.T) {
	bucket, seven := weir.TokenBucket{Limit: 10, Per: time.Second}, 7
	utc := *time.UTC
	policies := []weir.Policy{
		weir.All(bucket, weir.FixedWindow{Limit: 1, Per: time.Second}),
		weir.All(weir.FixedWindow{Limit: 1, Per: time.Second}, bucket),
		weir.Tiers(bucket, weir.FixedWindow{Limit: 1, Per: time.Second}),
		embedding{bucket, nil},
		embedding{bucket, 1},
		embedding{bucket, int64(1)},
		embedding{weir.TokenBucket{Limit: 11, Per: time.Second}, 1},
		&embedding{bucket, 1},
		embedding{bucket, []string{"a", "b"}},
		embedding{bucket, []string{"ab"}},
		embedding{bucket, map[string]int{"a": 1, "b": 2}},
		embedding{bucket, map[string]int{"a": 2, "b": 1}},
		embedding{bucket, &seven},
		embedding{bucket, &utc},
	}
	for i, p := range policies {
		for j, q := range policies {
			assert.Equal(t, i == j, fingerprint(p) == fingerprint(q), "%#v and %#v", p, q)
		}
	}
	// those that are made in the same way are the same
	another := 7
	for i := range 20 { // in whatever order maps are run through
		assert.Equal(t, fingerprint(policies[10]), fingerprint(embedding{bucket, map[string]int{"b": 2, "a": 1}}), i)
	}
	assert.Equal(t, fingerprint(policies[12]), fingerprint(embedding{bucket, &another}))
	assert.Equal(t, fingerprint(policies[0]), fingerprint(weir.All(bucket, weir.FixedWindow{Limit: 1, Per: time.Second})))
	self := &embedding{TokenBucket: bucket}
	self.other = self
	assert.NotEmpty(t, fingerprint(self))
}
