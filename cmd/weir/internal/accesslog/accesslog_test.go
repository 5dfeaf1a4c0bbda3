package accesslog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func linesOf(t testing.TB, file string) (all [][]byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	for line := range bytes.Lines(b) {
		all = append(all, bytes.TrimRight(line, "\n"))
	}
	return all
}

// A read is the time and the fields of a line.
type read struct {
	time   string
	whole  bool
	fields map[string]string // "" for one that is not there
}

// Each format is found out by its lines, which are read as they stand there. A read without a time
// is a line that is not understood.
func TestFormats(t *testing.T) {
	for file, want := range map[string]struct {
		format string
		read   []read
	}{
		"combined.log": {"combined", []read{
			{"13:55:36", true, map[string]string{
				"ip": "192.0.2.10", "user": "", "method": "GET", "uri": "/index.html?lang=en", "path": "/index.html",
				"status": "200", "bytes": "2326", "referer": "https://example.com/start", "host": "", "extra1": "",
				"agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
			}},
			{"13:55:36", true, map[string]string{"ip": "198.51.100.7", "user": "ann", "method": "POST", "bytes": "", "agent": "curl/8.10.1"}},
			{"13:55:37", true, map[string]string{"ip": "2001:db8:1:2:3::4", "method": "", "uri": `\x16\x03\x01`, "status": "400"}},
			{"13:55:38", true, map[string]string{"uri": `/a\"b`, "agent": `say \"hi\" \\`, "extra1": "192.0.2.99", "extra2": "0.004", "extra3": "", "other": ""}},
		}},
		"common.log": {"combined", []read{
			{"20:55:36", true, map[string]string{"ip": "192.0.2.10", "path": "/apache_pb.gif", "agent": ""}},
			{"20:55:37", true, map[string]string{"ip": "192.0.2.11", "user": "frank miller", "method": "HEAD"}},
		}},
		"vhost.log": {"combined", []read{
			{"13:55:36", true, map[string]string{"host": "shop.example.com", "ip": "192.0.2.10", "user": ""}},
			{"13:55:39", true, map[string]string{"host": "blog.example.com", "ip": "2001:db8::5", "user": "eve"}},
		}},
		"alb.log": {"alb", []read{
			{"13:55:35.955", false, map[string]string{
				"ip": "192.0.2.10", "method": "GET", "uri": "/cart?id=7", "path": "/cart", "status": "200", "bytes": "366",
				"agent": "curl/8.10.1", "host": "www.example.com", "ssl_protocol": "TLSv1.2", "conn_trace_id": "TID_1234abcd5678ef90", "x": "",
			}},
			{"13:55:37", false, map[string]string{"ip": "2001:db8::9", "uri": "/", "status": "503", "agent": "", "conn_trace_id": ""}},
			{"13:55:38", false, map[string]string{"ip": "192.0.2.11", "method": "", "uri": "", "path": "", "status": "400", "request": "- - - "}},
			{"13:55:39", false, map[string]string{"method": "", "uri": "http://lb.example.com:80-", "path": "/", "status": "460"}},
		}},
		"caddy.log": {"caddy", []read{
			{"13:55:36.1234567", false, map[string]string{
				"ip": "192.0.2.10", "method": "GET", "uri": "/a/b?c=d", "path": "/a/b", "host": "example.com", "status": "200",
				"bytes": "10900", "agent": "curl/8.10.1", "user": "ann", "request.headers.X-Forwarded-For.1": "192.0.2.77",
				"request.headers.X-Forwarded-For.2": "", "request.headers": "", "duration": "0.000929675", "request.tls.resumed": "false",
				"status.code": "", "none.at.all": "",
			}},
			{"13:55:37.5", false, map[string]string{"ip": "", "msg": "cleaning storage unit"}},
			{"13:55:38.25", false, map[string]string{"ip": "2001:db8::7", "uri": `/"q"`, "agent": "", "user": ""}},
		}},
		"traefik.log": {"traefik", []read{
			{"13:55:36.123456789", false, map[string]string{
				"ip": "192.0.2.10", "user": "", "method": "GET", "path": "/missing", "host": "example.com", "status": "404",
				"bytes": "19", "agent": "curl/8.10.1", "RouterName": "web@docker",
			}},
			{"13:55:36.5", false, map[string]string{"ip": "2001:db8::8", "user": "ann"}},
		}},
		"envoy.log": {"envoy", []read{
			{"13:55:36.123", false, map[string]string{
				"ip": "192.0.2.10", "method": "GET", "path": "/v1/items", "uri": "/v1/items?page=2", "host": "api.example.com",
				"status": "200", "bytes": "154", "agent": "grpc-go/1.80", "x_forwarded_for": "192.0.2.10",
			}},
			{"13:55:36.999", false, map[string]string{"ip": "2001:db8::6", "x_forwarded_for": "", "agent": ""}},
		}},
		"json.log": {"json", []read{
			{"13:55:36", true, map[string]string{
				"ip": "192.0.2.10", "method": "GET", "path": "/a", "status": "200", "bytes": "612", "agent": "curl/8.10.1",
				"referer": "", "user": "ann", "account.id": "17", "account.tags": "gold", "account.tags.1": "eu", "account": "",
			}},
			{"13:55:37", true, map[string]string{"ip": "::ffff:192.0.2.11", "account.id": ""}},
		}},
		"csv.log": {"csv", []read{
			{"13:55:36.5", false, map[string]string{"ip": "192.0.2.10", "method": "GET", "uri": "/a?b=c", "path": "/a", "units": "3", "note": "plain"}},
			{"13:55:37.5", false, map[string]string{"ip": "2001:db8::3", "note": `with, comma and "quotes"`, "x": ""}},
		}},
	} {
		t.Run(file, func(t *testing.T) {
			all := linesOf(t, file)
			p, skip, err := Guess(all, Options{})
			require.NoError(t, err)
			assert.Equal(t, want.format, p.Format())
			require.Len(t, all, len(want.read)+skip)
			for i, r := range want.read {
				stamp, err := p.Parse(all[skip+i])
				require.NoError(t, err)
				day := time.Date(2026, 10, 10, 0, 0, 0, 0, time.UTC)
				assert.Equal(t, r.time, time.Unix(0, stamp.Nanos).UTC().Format("15:04:05.999999999"))
				assert.WithinRange(t, time.Unix(0, stamp.Nanos), day, day.AddDate(0, 0, 1))
				assert.Equal(t, r.whole, stamp.Whole)
				for name, value := range r.fields {
					assert.Equal(t, value, string(p.Field(name)), name)
				}
			}
		})
	}
}

func TestStamps(t *testing.T) {
	want := time.Date(2026, 10, 10, 13, 55, 36, 0, time.UTC).UnixNano()
	var s stamps
	_, err := s.parse(nil) // before any other
	require.ErrorContains(t, err, `time is "", must be`)
	for text, stamp := range map[string]Stamp{
		"10/Oct/2026:13:55:36 +0000":    {want, true},
		"10/Oct/2026:15:25:36 +0130":    {want, true},
		"10/Oct/2026:13:55:36.25 +0000": {want + 25e7, false},
		"2026-10-10T13:55:36Z":          {want, true},
		"2026-10-10T13:55:36.000Z":      {want, false},
		"2026-10-10T15:55:36,001+02:00": {want + 1e6, false},
		"2026-10-10T15:55:36+0200":      {want, true},
		"2026-10-10 13:55:36":           {want, true},
		"2026-10-10 15:55:36.5 +0200":   {want + 5e8, false},
		"2026/10/10 13:55:36":           {want, true},
		"1791640536":                    {want, true},
		"1791640536.":                   {want, false},
		"1791640536.1234567891":         {want + 123456789, false},
		"1791640536000":                 {want, false},
		"1791640536000.5":               {want + 500_000, false},
		"1791640536000000":              {want, false},
		"1791640536000000000":           {want, false},
		"0":                             {0, true},
	} {
		got, err := s.parse([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, stamp, got, text)
	}
	for text, says := range map[string]string{
		"":                           `time is "", must be`,
		"-":                          `time is "-", must be like`,
		"1.2.3":                      "must have one decimal point",
		".5":                         "must be a number of seconds",
		"99999999999999999999":       "must be a number of seconds",
		"9300000000000000000":        "must be a number of seconds", // above an int64
		"9223372036854775807":        "must be between the years 1970 and 2262",
		"10/Oct/1969:13:55:36 +0000": "must be between the years 1970 and 2262",
		"2263-01-01T00:00:00Z":       "must be between the years 1970 and 2262",
		"10/Okt/2026:13:55:36 +0000": "must be like 02/Jan/2006:15:04:05 -0700",
	} {
		_, err := s.parse([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
}

func TestBadLines(t *testing.T) {
	for _, tt := range []struct{ format, line, says string }{
		{"combined", "", "no time in brackets"},
		{"combined", "garbage", "no time in brackets"},
		{"combined", "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000", "no time in brackets"},
		{"combined", `192.0.2.1 [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1`, "no address, ident and user"},
		{"combined", `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200`, "no request, status and bytes"},
		{"combined", `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1 200 1`, `a quote " is not closed`},
		{"combined", `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1"200 1`, "a space must follow a quoted word"},
		{"combined", `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" OK 1`, `status is "OK", must be a number`},
		{"combined", `192.0.2.1 - - [today] "GET / HTTP/1.1" 200 1`, `time is "today", must be like`},
		{"alb", "http 2026-10-10T13:55:36Z x", "3 fields, must be at least 14"},
		{"alb", "http 2026-10-10T13:55:36Z lb web1" + strings.Repeat(" -", 10), `client:port is "web1", must be an address`},
		{"alb", `http "`, `a quote " is not closed`},
		{"json", "[1]", "not an object of JSON"},
		{"json", `{"time":`, "not an object of JSON"},
		{"json", `{"a":1}`, "no field with the time, which must be time or timestamp or"},
		{"caddy", `{"ts":"x"}`, `time is "x", must be like`},
	} {
		p, _, err := New(tt.format, nil, Options{})
		require.NoError(t, err)
		_, err = p.Parse([]byte(tt.line))
		require.ErrorContains(t, err, tt.says, "%s: %s", tt.format, tt.line)
	}
	p, _, err := New("csv", [][]byte{[]byte("time\tip")}, Options{})
	require.NoError(t, err)
	for line, says := range map[string]string{
		"1": "1 fields, must be 2 as in the first line", `"1": "`: "does not end with its quote", `"1`: "is not closed", `"`: "is not closed", "x\ty": "time is",
	} {
		_, err := p.Parse([]byte(line))
		require.ErrorContains(t, err, says, line)
	}
}

func TestNew(t *testing.T) {
	_, _, err := New("xml", nil, Options{})
	require.EqualError(t, err, `format is "xml", must be one of combined, alb, caddy, traefik, envoy, json, csv`)
	_, _, err = New("csv", nil, Options{})
	require.ErrorContains(t, err, "a CSV needs a first line")
	_, _, err = New("csv", [][]byte{[]byte("a,b")}, Options{Time: "c"})
	require.EqualError(t, err, `the columns of the CSV are ["a" "b"], one must be the time: ["c"]`)
	_, _, err = Guess([][]byte{[]byte("garbage")}, Options{})
	require.EqualError(t, err, "the format is not recognized, must be one of combined, alb, caddy, traefik, envoy, json, csv")

	wide := []byte("time" + strings.Repeat(",column", 8000))
	_, _, err = New("csv", [][]byte{wide}, Options{Time: "c"})
	require.ErrorContains(t, err, `…, one must be the time: ["c"]`)
	assert.Less(t, len(err.Error()), 1200)
	p, _, err := New("csv", [][]byte{wide}, Options{})
	require.NoError(t, err)
	assert.Less(t, len(p.Check("x").Error()), 1200)

	p, _, err = Guess([][]byte{[]byte(`{"when":1791640536,"ts":"x"}`)}, Options{Time: "when"})
	require.NoError(t, err)
	assert.Equal(t, "json", p.Format())
	p, skip, err := Guess([][]byte{[]byte("\ufeffwhen;who"), []byte("1791640536;ann")}, Options{Time: "when"})
	require.NoError(t, err)
	assert.Equal(t, "csv", p.Format())
	assert.Equal(t, 1, skip)
	_, err = p.Parse([]byte("1791640536;ann"))
	require.NoError(t, err)
	assert.Equal(t, "ann", string(p.Field("who")))
}

func TestCheck(t *testing.T) {
	head := linesOf(t, "csv.log")
	for format, fields := range map[string][2][]string{
		"combined": {{"ip", "path", "agent", "extra1", "extra32", "request"}, {"", "x", "extra0", "extra33", "extra", "extra01"}},
		"alb":      {{"ip", "path", "trace_id", "client:port"}, {"user", "x"}},
		"json":     {{"ip", "anything.at.all"}, nil},
		"csv":      {{"ip", "path", "units", "client_ip"}, {"agent", "x"}},
	} {
		p, _, err := New(format, head, Options{})
		require.NoError(t, err)
		for _, field := range fields[0] {
			assert.NoError(t, p.Check(field), "%s of %s", field, format)
		}
		for _, field := range fields[1] {
			assert.ErrorContains(t, p.Check(field), "must be one of those of", "%s of %s", field, format)
		}
	}
}
