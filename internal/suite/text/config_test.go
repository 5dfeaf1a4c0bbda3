package text_test

import (
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

type textConfig struct {
	Limit weir.AnyPolicy              `json:"limit"`
	Login weir.SlidingLog             `json:"login"`
	Plans map[string]weir.AnyPolicy   `json:"plans"`
	More  []weir.FixedWindow          `json:"more"`
	Keys  map[weir.TokenBucket]string `json:"keys"`
}

func TestText_JSON(t *testing.T) {
	const text = `{"limit":"leaky-bucket 10/1s capacity=50","login":"sliding-log 5/1m",` +
		`"plans":{"free":"fixed-window 1000/1d","none":"","pro":"100/1m"},` +
		`"more":["fixed-window 1/1s from-first"],"keys":{"1/1ns":"x"}}`
	var c textConfig
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	require.Equal(t, textConfig{
		Limit: weir.AnyPolicy{Policy: weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}},
		Login: weir.SlidingLog{Limit: 5, Per: time.Minute},
		Plans: map[string]weir.AnyPolicy{
			"free": {Policy: weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour}},
			"none": {},
			"pro":  {Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}},
		},
		More: []weir.FixedWindow{{Limit: 1, Per: time.Second, FromFirst: true}},
		Keys: map[weir.TokenBucket]string{{Limit: 1, Per: 1}: "x"},
	}, c)
	again, err := json.Marshal(c)
	require.NoError(t, err)
	require.Equal(t, text, string(again))

	err = json.Unmarshal([]byte(`{"login": "sliding-log 5 per 1m"}`), &c)
	require.ErrorContains(t, err, `weir: policy "sliding-log 5 per 1m": at byte 12, "5": must be a rate such as 100/1m`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"login": "100/1m"}`), &c), "must be a weir.SlidingLog")
	require.Error(t, json.Unmarshal([]byte(`{"login": {"Limit": 5, "Per": 60}}`), &c), "a number of what?")
}

func TestText_Flag(t *testing.T) {
	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 20}}
	var (
		login weir.SlidingLog
		none  weir.AnyPolicy
		usage strings.Builder
	)
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&limit, "limit", limit, "requests of a client")
	flags.TextVar(&login, "login", weir.SlidingLog{Limit: 5, Per: time.Minute}, "tries")
	flags.TextVar(&none, "none", weir.AnyPolicy{}, "no more")
	require.Equal(t, 5, login.Limit, "the default")

	require.NoError(t, flags.Parse([]string{"-limit", "leaky-bucket 10/1s", "-login=sliding-log 3/1m"}))
	require.Equal(t, weir.LeakyBucket{Limit: 10, Per: time.Second}, limit.Policy)
	require.Equal(t, weir.SlidingLog{Limit: 3, Per: time.Minute}, login)
	require.Nil(t, none.Policy)
	require.NoError(t, flags.Parse([]string{"-limit="}))
	require.Nil(t, limit.Policy, "taken away")

	err := flags.Parse([]string{"-limit", "leaky-bucket 10/1x"})
	require.ErrorContains(t, err, `invalid value "leaky-bucket 10/1x" for flag -limit: weir: policy "leaky-bucket 10/1x": at byte 16, "1x"`)

	flags.SetOutput(&usage)
	flags.PrintDefaults()
	require.Contains(t, usage.String(), "requests of a client (default token-bucket 100/1m burst=20)\n")
	require.Contains(t, usage.String(), "tries (default sliding-log 5/1m)\n")
	require.Contains(t, usage.String(), "no more\n")
}
