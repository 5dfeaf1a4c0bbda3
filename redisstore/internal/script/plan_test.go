package script

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// Values outlive the process that wrote them. If a later release gave a policy another head, its
// processes would charge the keys of the earlier ones anew, or refuse their values.
func TestHeadsStay(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 300, Per: time.Minute}
	burst := weir.TokenBucket{Limit: 1000, Per: 24 * time.Hour, Burst: 50}
	month := weir.CalendarWindow{Limit: 9, Unit: weir.Month, Location: "Europe/Berlin", Start: 15}
	for _, test := range []struct {
		policy weir.Policy
		head   string
	}{
		{bucket, "\x01\xac\x02\x80\xb0\x9d\xc2\xdf\x01\xac\x02"},
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}, "\x02\n\x80\x94\xeb\xdc\x032"},
		{weir.FixedWindow{Limit: 10, Per: time.Second}, "\x03\n\x80\x94\xeb\xdc\x03\x00"},
		{weir.FixedWindow{Limit: 10, Per: time.Second, FromFirst: true}, "\x04\n\x80\x94\xeb\xdc\x03\x00"},
		{weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 5}, "\x05\n\x80\x94\xeb\xdc\x03\x05"},
		{weir.SlidingLog{Limit: 10, Per: time.Second}, "\x06\n\x80\x94\xeb\xdc\x03\x00"},
		{month, "\a7calendar-window 9/month location=Europe/Berlin start=15"},
		{
			weir.All(bucket, weir.Tiers(burst, month), weir.SlidingLog{Limit: 5, Per: time.Hour}),
			"\a|all(300/1m, tiers(token-bucket 1000/1d burst=50, calendar-window 9/month location=Europe/Berlin start=15), sliding-log 5/1h)",
		},
		{weir.SingleRateMarker{Committed: burst, Excess: 40}, "\a-single-rate-marker 1000/1d burst=50 excess=40"},
		{weir.TwoRateMarker{Committed: burst, Peak: bucket}, "\a6two-rate-marker(token-bucket 1000/1d burst=50, 300/1m)"},
		{embedding{bucket, 7}, "\x00\xd66?\xa3?]\xf2+\xe9L\x16\xb3\xc7\xf8\xb1\x02"},
	} {
		head, partial := policyHead(test.policy)
		assert.Equal(t, test.head, head, "%#v", test.policy)
		assert.False(t, partial, "%#v", test.policy)
	}
}

// A policy without a text that can be read has a hash of its fingerprint in its head.
func TestFingerprintsStay(t *testing.T) {
	const contents = "github.com/weir-go/weir/redisstore/internal/script.script.embedding:" +
		"github.com/weir-go/weir.weir.TokenBucket:.int:300;time.time.Duration:60000000000;.int:0;.interface {}:.int:7;"
	bucket, month := weir.TokenBucket{Limit: 300, Per: time.Minute}, weir.CalendarWindow{Limit: 9, Unit: weir.Month}
	embeds := embedding{bucket, 7}
	assert.Equal(t, "*weir.CalendarWindow 23,calendar-window 9/month", fingerprintText(&month))
	assert.Equal(t, contents, fingerprintText(embeds))
	assert.Equal(t, "weir.all 2,weir.TokenBucket 6,300/1m"+contents, fingerprintText(weir.All(bucket, embeds)))
}
