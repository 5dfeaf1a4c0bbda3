package casstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// Values outlive the process that wrote them. If a later release gave a policy another name, its
// processes would charge the keys of the earlier ones anew.
func TestNamesStay(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 300, Per: time.Minute}
	burst := weir.TokenBucket{Limit: 1000, Per: 24 * time.Hour, Burst: 50}
	month := weir.CalendarWindow{Limit: 9, Unit: weir.Month, Location: "Europe/Berlin", Start: 15}
	for _, test := range []struct {
		policy weir.Policy
		name   string
	}{
		{bucket, "300/1m"},
		{month, "calendar-window 9/month location=Europe/Berlin start=15"},
		{
			weir.All(bucket, weir.Tiers(burst, month), weir.SlidingLog{Limit: 5, Per: time.Hour}),
			"all(300/1m, tiers(token-bucket 1000/1d burst=50, calendar-window 9/month location=Europe/Berlin start=15), sliding-log 5/1h)",
		},
		{weir.SingleRateMarker{Committed: burst, Excess: 40}, "single-rate-marker 1000/1d burst=50 excess=40"},
		{weir.TwoRateMarker{Committed: burst, Peak: bucket}, "two-rate-marker(token-bucket 1000/1d burst=50, 300/1m)"},
		{embedding{bucket, 7}, "#qiHSfODEkiRzmNb7H3vXbg"},
	} {
		var ps policies
		p := ps.add(test.policy, nil)
		assert.Equal(t, test.name, p.name, "%#v", test.policy)
		assert.False(t, p.partial, "%#v", test.policy)
		assert.Same(t, p, ps.by(test.name))
	}
}

// A policy without a text that can be read has a hash of its fingerprint in its name.
func TestFingerprintsStay(t *testing.T) {
	const contents = "github.com/weir-go/weir/casstore.casstore.embedding:" +
		"github.com/weir-go/weir.weir.TokenBucket:.int:300;time.time.Duration:60000000000;.int:0;.interface {}:.int:7;"
	bucket, month := weir.TokenBucket{Limit: 300, Per: time.Minute}, weir.CalendarWindow{Limit: 9, Unit: weir.Month}
	embeds := embedding{bucket, 7}
	assert.Equal(t, "*weir.CalendarWindow 23,calendar-window 9/month", fingerprintText(&month))
	assert.Equal(t, contents, fingerprintText(embeds))
	assert.Equal(t, "weir.all 2,weir.TokenBucket 6,300/1m"+contents, fingerprintText(weir.All(bucket, embeds)))
}
