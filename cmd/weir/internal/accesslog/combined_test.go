package accesslog

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What stands before the address is not taken for it: the name of the server, or what journald,
// Docker and Kubernetes put before each line.
func TestWho(t *testing.T) {
	for before, want := range map[string][3]string{ // host, ip, user
		"192.0.2.1 - -":                                       {"", "192.0.2.1", ""},
		"192.0.2.1 - 192.0.2.2 a b":                           {"", "192.0.2.1", "192.0.2.2 a b"},
		"a.example.com - ann":                                 {"", "a.example.com", "ann"},
		"a.example.com - frank de miller":                     {"", "a.example.com", "frank de miller"},
		"shop.example.com:443 192.0.2.1 - -":                  {"shop.example.com", "192.0.2.1", ""},
		"shop.example.com 2001:db8::1 - de miller":            {"shop.example.com", "2001:db8::1", "de miller"},
		"Oct 10 13:55:36 web1 nginx[123]: 192.0.2.1 - -":      {"", "192.0.2.1", ""},
		"web_1  | 192.0.2.1 - frank miller":                   {"", "192.0.2.1", "frank miller"},
		"2026-10-10T13:55:36.1Z stdout F 2001:db8::1 - -":     {"", "2001:db8::1", ""},
		"<13>Oct 10 13:55:36 10.0.0.7 nginx: 192.0.2.1 - ann": {"", "192.0.2.1", "ann"},
		"10.0.0.7 nginx: 192.0.2.1 - ann":                     {"", "192.0.2.1", "ann"},
		"192.0.2.1:5124 - ann":                                {"", "192.0.2.1", "ann"}, // a port is of a connection, not of a client
		"[2001:db8::1]:5124 - ann":                            {"", "2001:db8::1", "ann"},
		"web_1  | 192.0.2.1:5124 - ann":                       {"", "192.0.2.1", "ann"},
		"192.0.2.1 - a [b] c] d":                              {"", "192.0.2.1", "a [b] c] d"}, // no client can hide
		`<13>1 2026-10-10T13:55:36.1Z web1 nginx 1 - [timeQuality isSynced="1"] 192.0.2.1 - -`: {"", "192.0.2.1", ""},
		"192.0.2.1 identd ann":          {"", "192.0.2.1", "ann"},
		"192.0.2.1 identd frank miller": {"", "192.0.2.1", "frank miller"},
	} {
		var c combined
		_, err := c.Parse([]byte(before + ` [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1`))
		require.NoError(t, err, before)
		assert.Equal(t, want, [3]string{string(c.Field("host")), string(c.Field("ip")), string(c.Field("user"))}, before)
	}
}

// A log of JSON, or a CSV, that is not recognized says what is wrong with its first line.
func TestGuessSaysWhy(t *testing.T) {
	for text, says := range map[string]string{
		`{"when":1791640536}`:    "; of json, no field with the time, which must be time or timestamp or ",
		`{"time":"yesterday"}`:   `; of json, time is "yesterday", must be like `,
		"When,Who\n1791640536,a": `; of csv, the columns of the CSV are ["When" "Who"], one must be the time: ["time" `,
		"time;ip\nyesterday;a":   `; of csv, time is "yesterday", must be like `,

		// A log_format of nginx without the user. The agent has a comma and a semicolon.
		`192.0.2.1 [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 12 "(X11; like KHTML, x)"`: "; of combined, no address, ident and user before the time",
	} {
		_, _, err := Guess(bytes.Split([]byte(text), []byte("\n")), Options{})
		assert.ErrorContains(t, err, says, text)
	}
	_, _, err := Guess(nil, Options{})
	assert.ErrorContains(t, err, "the format is not recognized")
}
