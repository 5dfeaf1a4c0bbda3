package casstore

import (
	"encoding"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func fingerprintText(p weir.Policy) string {
	text, _ := fingerprintOf(p)
	return text
}

// embedding has the text form of the policy that it embeds, which does not tell of its other
// fields.
type embedding struct {
	weir.TokenBucket
	other any
}

// pointing is the same with a pointer, and naming with an interface.
type pointing struct {
	*weir.TokenBucket
	other any
}

type naming struct {
	text
	other any
}

type text interface {
	weir.Policy
	encoding.TextMarshaler
}

func TestFingerprintsTellPoliciesApart(t *testing.T) {
	bucket, seven := weir.TokenBucket{Limit: 10, Per: time.Second}, 7
	utc := *time.UTC
	counts, pointer := embedding{bucket, map[string]int{"a": 1, "b": 2}}, embedding{bucket, &seven}
	policies := []weir.Policy{
		weir.All(bucket, weir.FixedWindow{Limit: 1, Per: time.Second}),
		weir.All(weir.FixedWindow{Limit: 1, Per: time.Second}, bucket),
		weir.All(embedding{bucket, 1}),
		weir.All(embedding{bucket, 2}),
		weir.All(bucket),
		weir.All(weir.All(bucket), bucket),
		weir.All(weir.All(bucket, bucket)),
		weir.Tiers(bucket, weir.FixedWindow{Limit: 1, Per: time.Second}),
		embedding{bucket, nil},
		embedding{bucket, 1},
		embedding{bucket, int64(1)},
		embedding{weir.TokenBucket{Limit: 11, Per: time.Second}, 1},
		&embedding{bucket, 1},
		embedding{bucket, []string{"a", "b"}},
		embedding{bucket, []string{"ab"}},
		counts,
		embedding{bucket, map[string]int{"a": 2, "b": 1}},
		pointer,
		embedding{bucket, &utc},
		pointing{&bucket, 1},
		pointing{&bucket, 2},
		naming{bucket, 1},
		naming{bucket, 2},
	}
	for i, p := range policies {
		for j, q := range policies {
			assert.Equal(t, i == j, fingerprintText(p) == fingerprintText(q), "%#v and %#v", p, q)
		}
	}
	// those that are made in the same way are the same
	another := 7
	for i := range 20 { // in whatever order maps are run through
		assert.Equal(t, fingerprintText(counts), fingerprintText(embedding{bucket, map[string]int{"b": 2, "a": 1}}), i)
	}
	assert.Equal(t, fingerprintText(pointer), fingerprintText(embedding{bucket, &another}))
	assert.Equal(t, fingerprintText(policies[0]), fingerprintText(weir.All(bucket, weir.FixedWindow{Limit: 1, Per: time.Second})))
	self := &embedding{TokenBucket: bucket}
	self.other = self
	assert.NotEmpty(t, fingerprintText(self))
}

// at is a policy with a time zone. The zone counts by its name, in exported and in unexported
// fields. The rest of it differs between processes: data that each has looked up, and addresses in
// its memory.
type at struct {
	weir.TokenBucket
	Zone *time.Location
	zone *time.Location
}

func TestFingerprintsOfTimeZones(t *testing.T) {
	in := func(name string) weir.Policy {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		require.NotEmpty(t, time.Now().In(zone).String()) // it remembers what was looked up
		return at{Zone: zone, zone: zone}
	}
	assert.Equal(t, fingerprintText(in("Europe/Berlin")), fingerprintText(in("Europe/Berlin")))
	assert.NotEqual(t, fingerprintText(in("Europe/Berlin")), fingerprintText(in("Europe/Paris")))
	assert.NotEqual(t, fingerprintText(in("Europe/Berlin")), fingerprintText(at{Zone: time.UTC, zone: time.UTC}))
	assert.NotEqual(t, fingerprintText(at{zone: time.UTC}), fingerprintText(at{}))
	local := fingerprintText(at{zone: time.Local})
	assert.Contains(t, local, fmt.Sprintf("%q", time.Local)) // "Local", or what TZ says
	assert.NotEqual(t, local, fingerprintText(at{}))
}

func TestFingerprintsThatDoNotTellAll(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 10, Per: time.Second}
	var long []weir.Policy
	for range 50 {
		long = append(long, embedding{bucket, nil})
	}
	for want, policies := range map[bool][]weir.Policy{
		false: {embedding{bucket, 1}, embedding{bucket, (func())(nil)}, weir.All(long...)},
		true: {
			embedding{bucket, func() {}},
			embedding{bucket, make(chan int)},
			embedding{bucket, map[string]any{"a": func() {}}},
			weir.All(embedding{bucket, func() {}}),
			embedding{bucket, weir.All(long...)},
		},
	} {
		for _, p := range policies {
			_, partial := fingerprintOf(p)
			assert.Equal(t, want, partial, "%#v", p)
		}
	}
}
