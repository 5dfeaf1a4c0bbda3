package text

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shade is a value with a name.
type shade int

const (
	light shade = iota + 1
	dark
)

func (s shade) String() string { return [...]string{"none", "light", "dark"}[s] }

// A lamp has a field for each kind of option.
type lamp struct {
	limit int
	per   time.Duration
	shade shade
	count int
	zero  int
	dim   bool
	room  string
}

// byTime is the form of a lamp with a duration.
func (l *lamp) byTime() Form {
	return Rate(&l.limit, Duration(&l.per),
		Count("count", &l.count), Flag("dim", &l.dim), Arg("room", "ROOM", Word(&l.room, "the name of a room")))
}

// byShade is the form of a lamp with a shade.
func (l *lamp) byShade() Form {
	return Rate(&l.limit, OneOf(&l.shade, light, dark), Arg("zero", "N", Whole(&l.zero, "what is left")))
}

// lamps are the form of a list, of lists if it starts with a bracket.
func lamps(into *[]any) Form {
	return List[any]{
		Parts: *into,
		Text: func(part any) string {
			switch part := part.(type) {
			case lamp:
				return strings.TrimSpace(part.byTime().String())
			case []any:
				return lamps(&part).String()
			}
			return "?"
		},
		Parse: func(r *Reader) any {
			if r.word == "(" {
				var inner []any
				lamps(&inner).Read(r)
				return inner
			}
			var l lamp
			l.byTime().Read(r)
			return l
		},
		Set: func(parts []any) string {
			if len(parts) > 3 {
				return "at most three"
			}
			*into = parts
			return ""
		},
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]lamp{
		"1/1s":                          {limit: 1, per: time.Second},
		"0/0ns":                         {},
		"-1/-1ns":                       {limit: -1, per: -1},
		"12/90m count=3 dim room=a/b=c": {limit: 12, per: 90 * time.Minute, count: 3, dim: true, room: "a/b=c"},
		"12/1d room=dim":                {limit: 12, per: 24 * time.Hour, room: "dim"},
		"7/-2w count=-3":                {limit: 7, per: -2 * 7 * 24 * time.Hour, count: -3},
		"7/1us count=2147483647":        {limit: 7, per: time.Microsecond, count: math.MaxInt32},
	} {
		assert.Equal(t, " "+text, want.byTime().String())
		if strings.Contains(text, "-") || want.limit == 0 {
			continue // what is not read
		}
		var l lamp
		require.NoError(t, Read(text, l.byTime().Read))
		assert.Equal(t, want, l, text)
	}
	var l lamp
	require.NoError(t, Read("12/d room=x dim count=3", l.byTime().Read), "in any order")
	assert.Equal(t, lamp{limit: 12, per: 24 * time.Hour, count: 3, dim: true, room: "x"}, l)

	l = lamp{limit: 1, shade: dark, zero: 2}
	assert.Equal(t, " 1/dark zero=2", l.byShade().String())
	require.NoError(t, Read("3/light zero=0", l.byShade().Read))
	assert.Equal(t, lamp{limit: 3, shade: light}, l)
	assert.Equal(t, " 3/light", l.byShade().String())
}

func TestRateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `at byte 0, the end: must be a rate such as 100/1m`,
		"12 /1s":                `at byte 0, "12": must be a rate such as 100/1m`,
		"+1/1s":                 `at byte 0, "+1": must be ` + aCount,
		"12/":                   `at byte 3, the end: must be a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w`,
		"12/107000d":            `at byte 3, "107000d": must be at most 106751d23h47m16.854775807s`,
		"12/1s bright":          `at byte 6, "bright": must be count=N, dim, room=ROOM or the end`,
		"12/1s dim=1":           `at byte 6, "dim=1": must be count=N, dim, room=ROOM or the end`,
		"12/1s count":           `at byte 6, "count": must be count=N, dim, room=ROOM or the end`,
		"12/1s dim dim":         `at byte 10, "dim": must be count=N, room=ROOM or the end`,
		"12/1s dim count=1 x":   `at byte 18, "x": must be room=ROOM or the end`,
		"12/1s count=0":         `at byte 12, "0": must be ` + aCount,
		"12/1s room= dim":       `at byte 11, "": must be the name of a room`,
		"12/1s room=":           `at byte 11, the end: must be the name of a room`,
		"12/1s count=1 room=a,": `at byte 20, ",": must be dim or the end`,
	} {
		var l lamp
		assert.ErrorContains(t, Read(text, l.byTime().Read), want, text)
	}
	var n int
	var d time.Duration
	assert.ErrorContains(t, Read("1/1s dim", Rate(&n, Duration(&d)).Read), `at byte 5, "dim": must be the end`)
	for text, want := range map[string]string{
		"1/none":         `at byte 2, "none": must be light or dark`,
		"1/dark zero=-1": `at byte 12, "-1": must be a whole number: what is left`,
	} {
		var l lamp
		assert.ErrorContains(t, Read(text, l.byShade().Read), want, text)
	}
}

func TestList(t *testing.T) {
	one, two := lamp{limit: 1, per: time.Second}, lamp{limit: 2, per: time.Minute, count: 3, dim: true}
	for text, want := range map[string][]any{
		"(1/1s)":                         {one},
		"(1/1s, 2/1m count=3 dim)":       {one, two},
		"((1/1s), 1/1s, ((1/1s, 1/1s)))": {[]any{one}, one, []any{[]any{one, one}}},
	} {
		assert.Equal(t, text, lamps(&want).String())
		for _, s := range []string{text, strings.ReplaceAll(text, ", ", " ,\n")} {
			var got []any
			require.NoError(t, Read(s, lamps(&got).Read))
			assert.Equal(t, want, got, s)
		}
	}
	var none []any
	assert.Equal(t, "()", lamps(&none).String())
}

func TestListErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `at byte 0, the end: must be "("`,
		"1/1s":                    `at byte 0, "1/1s": must be "("`,
		"(":                       `at byte 1, the end: must be a rate such as 100/1m`,
		"()":                      `at byte 1, ")": must be a rate such as 100/1m`,
		"(1/1s,)":                 `at byte 6, ")": must be a rate such as 100/1m`,
		"(1/1s":                   `at byte 5, the end: must be "," or ")"`,
		"((1/1s) 1/1s)":           `at byte 8, "1/1s": must be "," or ")"`,
		"(1/1s dim 1/1s)":         `at byte 10, "1/1s": must be count=N, room=ROOM, "," or ")"`,
		"(1/1s))":                 `at byte 6, ")": must be the end`,
		" ( 1/s,1/s,1/s,1/s ) ":   `at byte 1, "( 1/s,1/s,1/s,1/s )": must be at most three`,
		strings.Repeat("(", 4000): `at byte 8, "(": must be at most 8 deep in brackets`,
	} {
		var got []any
		assert.ErrorContains(t, Read(text, lamps(&got).Read), want, text)
	}
	var got []any
	require.NoError(t, Read(strings.Repeat("(", 8)+"1/s"+strings.Repeat(")", 8), lamps(&got).Read))
}

// FuzzForms reads any text as forms of all kinds. A form that was read is the same after it is
// written and read again.
func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		"(1/1s, 2/1m count=3 dim)", "((1/s), (room=x))", "12/1d room=dim count=7", "3/light zero=0", "1/dark zero=9", "1/1.5h dim",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var l, again lamp
		if Read(text, l.byTime().Read) == nil {
			require.NoError(t, Read(l.byTime().String(), again.byTime().Read), "%q", text)
			require.Equal(t, l, again, "%q", text)
		}
		l, again = lamp{}, lamp{}
		if Read(text, l.byShade().Read) == nil {
			require.NoError(t, Read(l.byShade().String(), again.byShade().Read), "%q", text)
			require.Equal(t, l, again, "%q", text)
		}
		var list, back []any
		if Read(text, lamps(&list).Read) == nil && len(lamps(&list).String()) <= maxLength {
			require.NoError(t, Read(lamps(&list).String(), lamps(&back).Read), "%q", text)
			require.Equal(t, list, back, "%q", text)
		}
	})
}
