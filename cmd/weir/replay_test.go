package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shop = "testdata/shop.log.gz"

// A log of three requests in one second, and of one that is not understood.
const threeLines = `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1
192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1
garbage
192.0.2.2 - - [10/Oct/2026:13:55:36 +0000] "POST / HTTP/1.1" 200 1
`

func TestReplayText(t *testing.T) {
	stdout, stderr, status := weirSays(t, threeLines, "replay", "1/1m", "5/1m", "-bad")
	assert.Zero(t, status)
	assert.Equal(t, `standard input:3: no time in brackets: "garbage"`+"\n", stderr)
	assert.Equal(t, `standard input: combined, 4 lines, 1 of them not understood (-bad shows them), the first is line 3: no time in brackets
3 requests of 2 clients (by ip) in 667ms, from 2026-10-10 13:55:36 to 2026-10-10 13:55:36 UTC.
The log has whole seconds. The requests of a second are spread over it (-spread=false: all at its start).

   refused    share   clients hit   share   longest shut out   early  policy
         1   33.33%             1     50%                 1m      0%  1/1m
         0       0%             0      0%                  -       -  5/1m

early: refused requests that came before the Retry-After of the previous refusal had passed.
A client that waits would not have sent them. The log cannot tell what it would have sent instead.

Over time, a bar for 1s:
  █   most 3   requests
  █   most 1   refused by 1/1m
  ·   most 0   refused by 5/1m

Refused by 1/1m:
   refused   of requests   shut out  client
         1             2         1m  192.0.2.1
   refused   clients hit   share  network
         1             1    100%  192.0.2.0/24
`, stdout)
}

func TestReplayFlags(t *testing.T) {
	stdout, _, status := weirSays(t, threeLines, "replay", "--spread=false", "1/1m", "-")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "all count at its start, which usually refuses too many")

	stdout, _, status = weirSays(t, threeLines, "replay", "-where", "method=POST", "1/1m")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "\n2 requests were left out by -where.\n1 request of 1 client (by ip)")

	stdout, _, status = weirSays(t, threeLines, "replay", "-key", "method", "1/1m")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "3 requests of 2 clients (by method)")
	assert.NotContains(t, stdout, "network")

	stdout, _, status = weirSays(t, "at,who,n\n1791640536,a,3\n", "replay", "2/1m", "-time", "at", "-key", "who", "-cost", "n", "-format", "csv")
	assert.Zero(t, status)
	assert.Regexp(t, "1 +100% +1 +100% +0s +0% +2/1m\n", stdout)
}

// A field for the cost that no line has would grant all.
func TestReplayCostless(t *testing.T) {
	const line = `{"time":1791640536,"ip":"a","bytes":3}` + "\n"
	stdout, stderr, status := weirSays(t, line+line, "replay", "2/1m", "-cost", "byts")
	assert.Equal(t, 1, status)
	assert.Contains(t, stdout, "\n2 requests have no field for -cost, and cost nothing.\n")
	assert.Equal(t, "weir: no request has the field of -cost, and so none is refused\n", stderr)
	stdout, _, status = weirSays(t, line+`{"time":1791640537,"ip":"a"}`, "replay", "2/1m", "-cost", "bytes")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "\n1 request has no field for -cost, and cost nothing.\n")
}

func TestReplayMaxClients(t *testing.T) {
	_, stderr, status := weirSays(t, threeLines, "replay", "1/1m", "9/1m", "-max-clients", "49.9%")
	assert.Equal(t, 1, status)
	assert.Equal(t, "weir: 1/1m hits 1 of 2 clients, more than 49.9%\n", stderr)
	three := strings.ReplaceAll(threeLines, "garbage", strings.Split(strings.ReplaceAll(threeLines, "192.0.2.1", "192.0.2.3"), "\n")[0])
	_, stderr, _ = weirSays(t, three, "replay", "1/1m", "-max-clients", "33.33%")
	assert.Equal(t, "weir: 1/1m hits 1 of 3 clients, more than 33.33%\n", stderr)
	var seven strings.Builder // of a thousand clients make a second request
	for i := range 1007 {
		fmt.Fprintf(&seven, `{"time":%d,"ip":"c%d"}`+"\n", 1e9+i, i%1000)
	}
	_, stderr, status = weirSays(t, seven.String(), "replay", "1/1h", "-max-clients=0.7")
	assert.Zero(t, status, stderr)
	_, _, status = weirSays(t, seven.String(), "replay", "1/1h", "-max-clients=0.6999")
	assert.Equal(t, 1, status)
	_, stderr, status = weirSays(t, threeLines, "replay", "1/1m", "-max-clients=50")
	assert.Zero(t, status)
	assert.Empty(t, stderr)
}

func TestReplaySweep(t *testing.T) {
	log := filepath.Join(t.TempDir(), "a.log")
	require.NoError(t, os.WriteFile(log, []byte(threeLines), 0o600))
	stdout, stderr, status := weirSays(t, "", "replay", "1/1m", "leaky-bucket 1/1m", log, "-spread=false", "-sweep", "1,100%")
	assert.Zero(t, status)
	assert.Empty(t, stderr)
	_, fits, _ := strings.Cut(stdout, "\nThe smallest limits")
	assert.Equal(t, ` like 1/1m:
   to hit fewer than   clients hit  policy
                  1%             0  2/1m
                100%             1  1/1m

The smallest limits like leaky-bucket 1/1m:
   to hit fewer than   clients hit  policy
                  1%             -  none: requests of one instant are too many for any limit
                100%             1  leaky-bucket 1/1m
`, fits)
}

// The row of a share has it as it was given: rounded, the row might not be true.
func TestReplaySweepShowsTheShare(t *testing.T) {
	var requests []byte // of three clients, one of which makes a second request
	for i := range 4 {
		requests = fmt.Appendf(requests, `{"time":%d,"ip":"c%d"}`+"\n", 1_000_000_000+i, i%3)
	}
	log := filepath.Join(t.TempDir(), "a.log")
	require.NoError(t, os.WriteFile(log, requests, 0o600))
	stdout, _, status := weirSays(t, "", "replay", "1/1m", log, "-sweep", "33.334, 0.125%,0.0000001")
	assert.Zero(t, status)
	_, fits, _ := strings.Cut(stdout, "\nThe smallest limits")
	assert.Equal(t, ` like 1/1m:
   to hit fewer than   clients hit  policy
             33.334%             1  1/1m
              0.125%             0  2/1m
          0.0000001%             0  2/1m
`, fits)
}

func TestReplayData(t *testing.T) {
	stdout, _, status := weirSays(t, "", "replay", "60/1m", "all(20/1s, 120/1m)", shop, "-json", "-sweep", "1")
	assert.Zero(t, status)
	var got struct {
		Requests, Clients int
		Over              []int `json:"requests_over_time"`
		Policies          []struct {
			Policy       string
			Refused, Hit int
			Worst        []struct{ Key string }
		}
		Fits [][]struct{ Policy string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, 19_536, got.Requests)
	assert.Equal(t, 927, got.Clients)
	sum := 0
	for _, n := range got.Over {
		sum += n
	}
	assert.Equal(t, got.Requests, sum)
	assert.Equal(t, "203.0.113.254", got.Policies[0].Worst[0].Key)
	assert.Equal(t, "12/1m", got.Fits[0][0].Policy)
	assert.Len(t, got.Fits, 2)

	stdout, _, status = weirSays(t, "", "replay", "60/1m", "all(20/1s, 120/1m)", shop, "-csv")
	assert.Zero(t, status)
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	assert.Equal(t, "all(20/1s, 120/1m)", rows[2][0])

	stdout, _, status = weirSays(t, "", "replay", "60/1m", "all(60/1m, "+strings.Repeat("9/1s, ", 99)+"9/1s)", shop, "-svg")
	assert.Zero(t, status)
	assert.Contains(t, stdout, ">1,141 requests refused, 1 client hit (0.11%), by 60/1m<")
	assert.Regexp(t, `>1,141 requests refused, 1 client hit \(0\.11%\), by all\(60/1m, [^<]{30,40}…<`, stdout) // where the picture ends
	bars := strings.Count(stdout, `fill="#dc2626"`)
	assert.Positive(t, bars)
	d := xml.NewDecoder(strings.NewReader(stdout))
	for err = nil; err == nil; _, err = d.Token() {
	}
	assert.ErrorIs(t, err, io.EOF, "it is well-formed")
}

func TestReplayErrors(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, exec.Command("mkfifo", fifo).Run())
	for _, tt := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, "weir: replay needs a POLICY before the FILE", []string{}},
		{2, "weir: replay needs a POLICY before the FILE", []string{shop}},
		{2, "policy at byte 2: \"1y\": must be a duration", []string{"1/1y", shop}},
		{2, "policy at byte 6: \"1y\": must be", []string{"1/1s", "all(2/1y)"}},
		{2, `"gone.log" is no file, and no policy either: policy at byte 0: "gone.log": must be a rate such as`, []string{"1/1s", "gone.log"}},
		{1, "open gone.log: no such file", []string{"1/1s", shop, "gone.log"}},
		{2, `"2/1s" is no file, and a policy must be before all files`, []string{"1/1s", shop, "2/1s"}},
		{2, "- is given twice", []string{"1/1s", "-", "-"}},
		{2, `-max-clients is "x", must be a percentage such as 0.1, at least 0 and at most 100`, []string{"1/1s", "-max-clients", "x"}},
		{2, `-max-clients is "", must be a percentage`, []string{"1/1s", shop, "-max-clients", ""}}, // of an empty variable
		{2, `-sweep is "", must be a percentage`, []string{"1/1s", shop, "-sweep="}},
		{2, `-key is "", must not be empty`, []string{"1/1s", shop, "-key", ""}},
		{2, `-where is "", must not be empty`, []string{"1/1s", shop, "-where="}},
		{2, "-sweep cannot be used with -csv or -svg", []string{"1/1s", shop, "-sweep=1", "-csv"}},
		{2, `-max-clients is "1,2", must be one percentage`, []string{"1/1s", "-max-clients", "1,2"}},
		{2, `-sweep is "0", must be a percentage such as 0.1, above 0 and at most 100`, []string{"1/1s", "-sweep", "1,0"}},
		{2, `-sweep is "101%", must be a percentage`, []string{"1/1s", "-sweep", "101%"}},
		{2, "-sweep reads the log several times", []string{"1/1s", "-sweep", "1"}},
		{2, "-sweep reads the log several times, which needs a FILE in place of " + fifo, []string{"1/1s", fifo, "-sweep", "1"}},
		{2, "flag -where: can't duplicate this flag", []string{"1/1s", shop, "-where=status=200", "-where=method=GET"}},
		{2, `where is "status>=400", at "status>=400" must be =, !=, ~ or !~`, []string{"1/1s", shop, "-where", "status>=400"}},
		{2, `-format is "xml", must be one of combined,`, []string{"1/1s", "-format", "xml"}},
		{2, `where is "x", at "x" must be field=value`, []string{"1/1s", "-where", "x"}},
		{2, "-json and -svg cannot be used together", []string{"1/1s", "-svg", "-json"}},
		{2, "flag needs an argument: -key", []string{"1/1s", "-key"}},
		{2, "field is \"account\", must be one of those of combined", []string{"1/1s", shop, "-key", "account"}},
		{1, "the format is not recognized", []string{"1/1s", "main.go"}},
		{1, "no request was counted, of 19,537 lines", []string{"1/1s", shop, "-where", "method=PUT"}},
	} {
		_, stderr, status := weirSays(t, "", append([]string{"replay"}, tt.args...)...)
		assert.Equal(t, tt.status, status, "%q", tt.args)
		assert.Contains(t, stderr, tt.says, "%q", tt.args)
	}
}

func TestReplayNeedsALog(t *testing.T) {
	device, err := os.Open(os.DevNull) // is like a terminal
	require.NoError(t, err)
	defer device.Close()
	var stderr bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), []string{"weir", "replay", "1/1m"}, device, io.Discard, &stderr))
	assert.Contains(t, stderr.String(), "weir: replay needs a FILE, or a log at its standard input")
}

func TestReplayOfNothing(t *testing.T) {
	stdout, stderr, status := weirSays(t, "\n", "replay", "1/1m")
	assert.Equal(t, 1, status)
	assert.Equal(t, "standard input: 0 lines\n", stdout)
	assert.Equal(t, "weir: no request was counted, of 0 lines\n", stderr)
}

type brokenWriter struct{ error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.error }

func TestReplayToABrokenPipe(t *testing.T) {
	for _, format := range []string{"-json", "-csv", "-svg", "-bad"} {
		var stderr bytes.Buffer
		status := run(t.Context(), []string{"weir", "replay", "1/1m", "testdata/shop.log.gz", format}, nil, brokenWriter{errors.New("broken pipe")}, &stderr)
		assert.Equal(t, 1, status, format)
		assert.Contains(t, stderr.String(), "weir: broken pipe\n", format)
	}
}

// The keys of a log may have bytes that a terminal would obey.
func TestReplayCleansKeys(t *testing.T) {
	line := `{"time":1791640536,"ip":"\u001b[31mred\u0007\u009b\ud800\u202egnp.\u200b\n"}` + "\n"
	stdout, _, status := weirSays(t, line+line, "replay", "1/1m")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "  .[31mred..\ufffd.gnp...\n")
}

// So may the names of its columns, and of its file.
func TestReplayCleansNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "\x1b[31mred.csv")
	require.NoError(t, os.WriteFile(name, []byte("time,ip,\x1b[32mgreen\n1791640536,x,y\nbad\n"), 0o600))
	for _, args := range [][]string{{"-key", "nope"}, {"-time", "nope", "-format=csv"}, {"-bad"}, {"-cost", "\x1b[33m"}} {
		stdout, stderr, _ := weirSays(t, "", append([]string{"replay", "1/1m", name}, args...)...)
		assert.NotContains(t, stdout+stderr, "\x1b", args)
		assert.Contains(t, stderr, ".[31mred.csv", args)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0%", 1: "100%", 0.5: "50%", 1. / 3: "33.33%", 0.001: "0.1%", 0.0001: "0.01%", 0.00009: "0.009%", 0.0000123: "0.0012%", 1e-9: "0%",
	} {
		assert.Equal(t, want, percent(share))
	}
}
