package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The verdicts are those of a plain loop that asks a limiter for each line, sorted by time.
func TestRunIsALoopOfTake(t *testing.T) {
	log := madeLog(runs.Long(300_000, 12_000), runs.Long(30_000, 1000))
	ps := policies(t, "3/30m", "all(2/10m, 20/6h)", "sliding-log 5/1h", "tiers(1/1h, fixed-window 2/1h)", "leaky-bucket 1/1m")
	report, err := Run(t.Context(), Config{}, ps, []Log{logOf("made", log)})
	require.NoError(t, err)

	type request struct {
		at  time.Time
		key string
	}
	var requests []request
	for line := range strings.Lines(string(log)) {
		key, rest, _ := strings.Cut(line, " - - [")
		stamp, _, _ := strings.Cut(rest, "]")
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
		require.NoError(t, err)
		requests = append(requests, request{at, key})
	}
	slices.SortStableFunc(requests, func(a, b request) int { return a.at.Compare(b.at) })
	require.Equal(t, len(requests), report.Requests)
	require.Zero(t, report.Late)
	for i, p := range ps {
		clock := &logClock{}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		refused := map[string]int{}
		all := 0
		for _, r := range requests {
			clock.now = r.at
			result, err := l.Take(t.Context(), r.key, 1)
			require.NoError(t, err)
			if !result.Allowed {
				refused[r.key]++
				all++
			}
		}
		require.NotZero(t, all)
		v := report.Policies[i]
		assert.Equal(t, all, v.Refused, "%v", p)
		assert.Len(t, refused, v.Hit, "%v", p)
		for _, c := range v.Worst {
			assert.Equal(t, refused[c.Key], c.Refused, "%v", p)
			delete(refused, c.Key)
		}
		for key, n := range refused {
			require.LessOrEqual(t, n, v.Worst[len(v.Worst)-1].Refused, "%s under %v", key, p)
		}
		inBars := 0
		for _, n := range v.Over {
			inBars += n
		}
		assert.Equal(t, all, inBars)
	}
}

// lineAt is a line of a log in JSON.
func lineAt(at float64, ip string) string {
	return fmt.Sprintf(`{"time":"%.3f","ip":%q,"cost":%q,"path":"/%s?x=1"}`+"\n", at, ip, "2", ip)
}

func textLog(name string, lines ...string) Log {
	return logOf(name, []byte(strings.Join(lines, "")))
}

func runOne(t *testing.T, c Config, policy string, logs ...Log) *Report {
	t.Helper()
	report, err := Run(t.Context(), c, policies(t, policy), logs)
	require.NoError(t, err)
	return report
}

// One event a minute: of a client that asks each ten seconds, five of six are refused.
func TestVerdict(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, lineAt(1000+float64(10*i), "192.0.2.7"))
	}
	lines = append(lines, lineAt(1111, "192.0.2.8"), lineAt(1112, "192.0.2.8"), lineAt(1200, "203.0.113.1"), lineAt(1200, "2001:db8:1:2::3"), lineAt(1200, "2001:db8:1:2::4"))
	r := runOne(t, Config{}, "1/1m", textLog("a", lines...))
	assert.Equal(t, []File{{Name: "a", Format: "json", Lines: 17}}, r.Files)
	assert.Equal(t, 17, r.Requests)
	assert.Equal(t, 4, r.Clients, "an IPv6 client is known by 64 bits")
	assert.Equal(t, time.Unix(1000, 0).UTC(), r.From)
	assert.Equal(t, time.Unix(1200, 0).UTC(), r.To)
	v := r.Policies[0]
	assert.Equal(t, 12, v.Refused)
	assert.Equal(t, 3, v.Hit)
	assert.Equal(t, 8, v.Early, "all but the first of a row")
	assert.Equal(t, time.Minute, v.LongestShutOut)
	assert.Equal(t, []Client{
		{"192.0.2.7", 12, 10, 50 * time.Second},
		{"192.0.2.8", 2, 1, 59 * time.Second},
		{"2001:db8:1:2::/64", 2, 1, time.Minute},
	}, v.Worst)
	assert.Equal(t, []Network{{"192.0.2.0/24", 2, 11}, {"2001:db8:1::/48", 1, 1}}, v.Networks)
}

// A request is early until the last RetryAfter has passed, also if one that costs less was granted
// since.
func TestEarlyByCost(t *testing.T) {
	line := func(seconds, cost int) string {
		return fmt.Sprintf("{\"time\":%d,\"ip\":\"192.0.2.7\",\"n\":%d}\n", seconds, cost)
	}
	r := runOne(t, Config{Cost: "n"}, "fixed-window 5/1m", textLog("a",
		line(6000, 3), line(6001, 4), line(6002, 1), line(6003, 0), line(6004, 4), line(6059, 4), line(6060, 4), line(6061, 4)))
	v := r.Policies[0]
	assert.Equal(t, 4, v.Refused)
	assert.Equal(t, 2, v.Early, "those at 6004 and 6059")
	assert.Equal(t, 59*time.Second, v.LongestShutOut, "from a refused request until one that is granted")
}

// A refusal that nothing can grant has no Retry-After, and no request after it is early.
func TestNeverIsNotEarly(t *testing.T) {
	line := func(seconds int) string { return fmt.Sprintf("{\"time\":%d,\"ip\":\"192.0.2.7\",\"n\":9}\n", seconds) }
	v := runOne(t, Config{Cost: "n"}, "fixed-window 5/1m", textLog("a", line(6000), line(6001), line(100_000))).Policies[0]
	assert.Equal(t, 3, v.Refused)
	assert.Zero(t, v.Early)
	assert.Equal(t, 94_000*time.Second, v.LongestShutOut)
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := madeLog(100_000, 100)
	r, err := Run(ctx, Config{Progress: func(requests int) {
		if requests > 10_000 {
			cancel()
		}
	}}, policies(t, "1/1s"), []Log{logOf("a", log)})
	require.NoError(t, err)
	assert.True(t, r.Stopped)
	assert.Greater(t, r.Requests, 10_000)
	assert.Less(t, r.Requests, 60_000) // all that was read, to be sorted
	assert.Equal(t, r.Files[0].Lines, r.Requests)
}
