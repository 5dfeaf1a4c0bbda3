package httplimit_test

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/httplimit"
)

func TestUsedUp(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		status int
		fields []string
		want   time.Duration
	}{
		{200, nil, 0},
		{429, []string{"Retry-After", "7"}, 7 * s},
		{503, []string{"Retry-After", "7", "Retry-After-Ms", "6500"}, 7 * s},
		{429, []string{"Retry-After-Ms", "1500"}, 1500 * time.Millisecond},
		{429, []string{"Retry-After-Ms", "1.5"}, 1500 * time.Microsecond},
		{200, []string{"Retry-After", "7", "Retry-After-Ms", "7"}, 0},

		{200, []string{"RateLimit", `"default";r=0;t=30`}, 30 * s},
		{200, []string{"RateLimit", `"default";r=1;t=30`}, 0},
		{200, []string{"RateLimit", `"a";r=5;t=90, "b";r=0;t=20`, "RateLimit", `"c" ; t=25 ; r=0`}, 25 * s},
		{200, []string{"RateLimit", `"a;r=0;t=90, \"";r=5;t=60`}, 0},
		{200, []string{"RateLimit", `"a";r=5;t=90;note=";r=0"`}, 0},
		{200, []string{"RateLimit", `"a";note="\";r=5;";r=0;t=9`}, 9 * s},
		{200, []string{"RateLimit", `token;r=0;t=9`}, 9 * s},
		{200, []string{"RateLimit", `"a;r=0;t=9`}, 0}, // the quote is left open: all of it is the name
		{200, []string{"RateLimit", `"a;r=0;t=9, "b";r=0;t=7`}, 7 * s},
		{200, []string{"RateLimit", `"a";r=0`}, 0},
		{200, []string{"RateLimit", `"a";r=0;t=-5`}, 0},
		{200, []string{"RateLimit", `"a";r=0;t=99999999999999999999`}, math.MaxInt64},
		{200, []string{"RateLimit", ``}, 0},
		// Revision 7
		{200, []string{"RateLimit", `limit=100, remaining=0, reset=30`}, 30 * s},
		{200, []string{"RateLimit", `reset=30,remaining=0`}, 30 * s},
		{200, []string{"RateLimit", `limit=100, remaining=10, reset=30`}, 0},
		{200, []string{"RateLimit", `limit=0, remaining=1, reset=30`}, 0},
		{200, []string{"RateLimit", `limit=100, remaining=0`}, 0},
		{200, []string{"RateLimit", `"remaining=0, reset=9";r=1;t=9`}, 0},

		{200, []string{"RateLimit-Remaining", "0", "RateLimit-Reset", "30"}, 30 * s},
		{200, []string{"RateLimit-Remaining", "1", "RateLimit-Reset", "30"}, 0},
		{200, []string{"RateLimit-Remaining", "0"}, 0},
		{200, []string{"RateLimit-Remaining", "0", "RateLimit-Reset", "soon"}, 0},
		{200, []string{"RateLimit-Remaining", "0", "RateLimit-Reset", "Sat, 01 Jan 2000 00:01:00 GMT"}, 60 * s},
		{200, []string{"RateLimit-Remaining", "0", "RateLimit-Reset", "Fri, 31 Dec 1999 23:59:59 GMT"}, 0},
		// GitHub
		{403, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1804161660", "Date", "Thu, 04 Mar 2027 12:00:00 GMT",
		}, 60 * s},
		{403, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1804161599", "Date", "Thu, 04 Mar 2027 12:00:00 GMT",
		}, 0},
		{403, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1804161660", "Date", "Fri, 31 Dec 9999 23:59:59 GMT",
		}, 0},
		{403, []string{"X-RateLimit-Remaining", "28", "Retry-After", "60"}, 60 * s},
		// OpenRouter
		{429, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1804161660500", "Date", "Thu, 04 Mar 2027 12:00:00 GMT",
		}, 60*s + 500*time.Millisecond},
		{200, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "899999999"}, 899_999_999 * s},
		// Discord
		{200, []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1804161660.25", "Date", "Thu, 04 Mar 2027 12:00:00 GMT",
		}, 60*s + 250*time.Millisecond},
		// Reddit
		{200, []string{"X-RateLimit-Remaining", "0.0", "X-RateLimit-Reset", "30"}, 30 * s},
		{200, []string{"X-RateLimit-Remaining", "0.5", "X-RateLimit-Reset", "30"}, 0},
		{200, []string{"X-RateLimit-Remaining", ".", "X-RateLimit-Reset", "30"}, 0},
		// Okta, X
		{429, []string{
			"X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "1804161660", "Date", "Thu, 04 Mar 2027 12:00:00 GMT",
		}, 60 * s},
		// OpenAI
		{200, []string{"X-RateLimit-Remaining-Requests", "0", "X-RateLimit-Reset-Requests", "6m0s"}, 6 * time.Minute},
		{200, []string{"X-RateLimit-Remaining-Tokens", "0", "X-RateLimit-Reset-Tokens", "120ms"}, 120 * time.Millisecond},
		{200, []string{"X-RateLimit-Remaining-Tokens", "0", "X-RateLimit-Reset-Tokens", "-5s"}, 0},
		// Anthropic
		{200, []string{
			"Anthropic-RateLimit-Requests-Remaining", "0", "Anthropic-RateLimit-Requests-Reset", "2000-01-01T00:00:42Z",
			"Anthropic-RateLimit-Output-Tokens-Remaining", "0", "Anthropic-RateLimit-Output-Tokens-Reset", "2000-01-01T00:01:00Z",
		}, 60 * s},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := http.Header{}
			for i := 0; i < len(c.fields); i += 2 {
				h.Add(c.fields[i], c.fields[i+1])
			}
			assert.Equal(t, c.want, httplimit.UsedUp(&http.Response{StatusCode: c.status, Header: h}), "%d %q", c.status, c.fields)
		})
	}
}

// The time to read an answer grows with its length, and not with the square of it: a server could
// otherwise keep a client busy for hours.
func TestUsedUp_LongFields(t *testing.T) {
	for _, part := range []string{`\"`, `"\`, `;"`, `";`, `;r=0`, `,"`, `"a";r=0;t=1,`} {
		for _, start := range []string{``, `"`, `"a";r=0;t="`} {
			long := start + strings.Repeat(part, 100_000)
			h := http.Header{"Ratelimit": {long, `"b";r=0;t=7`}, "X-Ratelimit-Remaining": {long}, "X-Ratelimit-Reset": {long}}
			assert.Equal(t, 7*time.Second, httplimit.UsedUp(&http.Response{StatusCode: 200, Header: h}), "%q %q", start, part)
		}
	}
}

// Bubbles begin in the year 2000. Unix times are no numbers of seconds there, either.
func TestUsedUp_InABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for unit, scale := range map[time.Duration]int64{time.Second: 1, time.Millisecond: 1000} {
			reset := strconv.FormatInt((time.Now().Unix()+10)*scale, 10)
			h := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}}
			assert.Equal(t, 10*time.Second, httplimit.UsedUp(&http.Response{StatusCode: 200, Header: h}), "%v", unit)
		}
	})
}

// The request after the last of a quota is held back, and never denied.
func TestTransport_HoldByUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(freely, answer{200, map[string]string{"RateLimit": `"a";r=1;t=30`}},
			answer{200, map[string]string{"RateLimit": `"a";r=0;t=30`}})
		defer stop()
		rt.Hold = httplimit.UsedUp
		for range 3 {
			_, err := get(forever, rt, "http://a.example/")
			require.NoError(t, err)
		}
		assert.Equal(t, []time.Duration{0, 0, 30 * time.Second}, s.came["a.example"])
	})
}
