package weir

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// both is a policy that is composed of others.
type both struct{ parts []Policy }

func (b both) Decider() (Decider, error) {
	for _, p := range b.parts {
		if _, err := p.Decider(); err != nil {
			return nil, err
		}
	}
	return b.parts[0].Decider()
}

// bothText is policyText with both, to any depth.
func bothText(p Policy) string {
	b, ok := p.(both)
	if !ok {
		return policyText(p)
	}
	texts := make([]string, len(b.parts))
	for i, part := range b.parts {
		texts[i] = bothText(part)
	}
	return "both(" + strings.Join(texts, ", ") + ")"
}

var kindsAndBoth = append(textKinds(), textKind{"both", func(r *textReader) Policy { return both{r.parts()} }})

func TestText_Composed(t *testing.T) {
	minute, hour := TokenBucket{Limit: 300, Per: time.Minute}, TokenBucket{Limit: 15750, Per: time.Hour}
	log := SlidingLog{Limit: 5, Per: time.Minute}
	nested := both{[]Policy{minute, both{[]Policy{hour, log}}, FixedWindow{Limit: 1, Per: time.Second, FromFirst: true}}}
	for text, want := range map[string]Policy{
		"both(300/1m, 15750/1h)": both{[]Policy{minute, hour}},
		"both(300/1m)":           both{[]Policy{minute}},
		" both (\n300/1m ,both( 15750/1h,sliding-log 5/1m ) , fixed-window 1/1s from-first\n) ": nested,
		"both(300/1m, both(15750/1h, sliding-log 5/1m), fixed-window 1/1s from-first)":          nested,
	} {
		p, err := parsePolicy(text, kindsAndBoth)
		require.NoError(t, err)
		require.Equal(t, want, p, text)
	}
	require.Equal(t, "(300/1m, sliding-log 5/1m)", partsText([]Policy{minute, log}))

	const endOrMore = `must be "," or ")"`
	for text, want := range map[string]string{
		"both":                                `at byte 4, the end: must be "("`,
		"both 300/1m":                         `at byte 5, "300/1m": must be "("`,
		"both(":                               `at byte 5, the end: must be a rate such as 100/1m, `,
		"both()":                              `at byte 5, ")": must be a rate such as 100/1m, `,
		"both(300/1m":                         `at byte 11, the end: ` + endOrMore,
		"both(300/1m, ":                       `at byte 13, the end: must be a rate`,
		"both(300/1m,)":                       `at byte 12, ")": must be a rate`,
		"both(300/1m 5)":                      `at byte 12, "5": must be burst=N, "," or ")"`,
		"both(sliding-log 5/1m (":             `at byte 22, "(": must be "," or ")"`,
		"both(both(300/1m) 5/1m)":             `at byte 18, "5/1m": ` + endOrMore,
		"both(300/1m) burst=5":                `at byte 13, "burst=5": must be the end`,
		"both(300/1m))":                       `at byte 12, ")": must be the end`,
		"both(300/, 5/1m)":                    `at byte 9, "": must be a duration`,
		"both(300/1m, 0/1h)":                  `at byte 13, "0/1h": weir.TokenBucket.Limit is 0, must be at least 1`,
		"300/1m both(300/1m)":                 `at byte 7, "both": must be burst=N or the end`,
		strings.Repeat("both(", 9) + "300/1m": `at byte 44, "(": must be at most 8 deep in brackets`,
		strings.Repeat("both(", 819):          `at byte 44, "(": must be at most 8 deep in brackets`,
	} {
		_, err := parsePolicy(text, kindsAndBoth)
		require.ErrorContains(t, err, want, text)
	}
	_, err := parsePolicy(strings.Repeat("both(", 8)+"300/1m"+strings.Repeat(")", 8), kindsAndBoth)
	require.NoError(t, err)
}

// FuzzParsePolicy reads any text. An error shows a place of it; a policy is one that New takes, and
// the same one when it is printed and read again.
func FuzzParsePolicy(f *testing.F) {
	for _, seed := range []string{
		"300/1m", "token-bucket 100/1m burst=20", "leaky-bucket 10/1s capacity=50", "fixed-window 1000/1h from-first",
		"sliding-window 100/1m buckets=6", "sliding-log 5/1w1d1h", "both(300/1m, both(1/s, sliding-log 5/d))",
		"sliding-window 0/1m buckets=7", "both(300/ burst=2", "fixed-window 1/µs from-first=", "1/1.5h burst=x",
		"9223372036854775807/15250w1d23h47m16s854ms775us807ns", strings.Repeat("both(", 9), "both(1/1m\xff)", "",
	} {
		f.Add(seed)
	}
	place := regexp.MustCompile(`: at byte (\d+), (the end|"(?:[^"\\]|\\.)*"): \w`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePolicy(text, kindsAndBoth)
		switch {
		case err == nil:
			_, err = p.Decider()
			require.NoError(t, err)
			printed := bothText(p)
			again, err := parsePolicy(printed, kindsAndBoth)
			require.NoError(t, err)
			require.Equal(t, p, again, printed)
			require.Equal(t, printed, bothText(again))
		case len(text) > maxPolicyText:
			require.Nil(t, p)
		default:
			require.Nil(t, p)
			message, ok := strings.CutPrefix(err.Error(), "weir: policy "+strconv.Quote(text))
			require.True(t, ok, "%v", err)
			require.NotContains(t, message, "\n")
			require.NotContains(t, message, "weir: ")
			found := place.FindStringSubmatch(message)
			require.NotNil(t, found, "%v", err)
			at, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			if found[2] == "the end" {
				require.Len(t, text, at)
				return
			}
			part, err := strconv.Unquote(found[2])
			require.NoError(t, err)
			require.Less(t, at, len(text))
			require.True(t, strings.HasPrefix(text[at:], part), "%q at %d of %q", part, at, text)
		}
	})
}

// FuzzPolicyText prints any policy. It is written and read again as it was if New takes it, and else
// not written.
func FuzzPolicyText(f *testing.F) {
	for kind := range uint8(5) {
		f.Add(kind, 100, int64(time.Minute), 20, true)
		f.Add(kind, math.MaxInt, int64(math.MaxInt64), math.MaxInt, false)
		f.Add(kind, 1, int64(1), 0, false)
		f.Add(kind, 0, int64(0), -1, true)
		f.Add(kind, math.MinInt, int64(math.MinInt64), math.MinInt, true)
		f.Add(kind, 7, int64(8*24*time.Hour), 4, true)
	}
	f.Fuzz(func(t *testing.T, kind uint8, limit int, per int64, more int, from bool) {
		d := time.Duration(per)
		p := []Policy{
			TokenBucket{limit, d, more},
			LeakyBucket{limit, d, more},
			FixedWindow{limit, d, from},
			SlidingWindow{limit, d, more},
			SlidingLog{limit, d},
		}[kind%5]
		text, err := AnyPolicy{p}.MarshalText()
		if _, fault := p.Decider(); fault != nil {
			require.Error(t, err, policyText(p))
			return
		}
		require.NoError(t, err)
		require.Equal(t, policyText(p), string(text))
		again, err := ParsePolicy(string(text))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
