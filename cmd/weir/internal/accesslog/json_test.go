package accesslog

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Formats of nginx have method and path in one field. A request may also be something else.
func TestRequestInOneField(t *testing.T) {
	const time, columns = "10/Oct/2026:13:55:36 +0000", "time_local,remote_addr,request"
	for request, want := range map[string][3]string{ // method, uri, path
		"POST /login?x HTTP/1.1": {"POST", "/login?x", "/login"},
		"a-number":               {},
		"- - - ":                 {},
		"- /a HTTP/1.1":          {"", "/a", "/a"},
		"":                       {},
	} {
		line, err := json.Marshal(map[string]string{"time_local": time, "remote_addr": "192.0.2.1", "request": request})
		require.NoError(t, err)
		for _, log := range [][]string{{string(line)}, {columns, time + ",192.0.2.1," + request}} {
			p, skip, err := Guess([][]byte{[]byte(log[0]), []byte(log[len(log)-1])}, Options{})
			require.NoError(t, err)
			_, err = p.Parse([]byte(log[skip]))
			require.NoError(t, err)
			for i, field := range []string{"method", "uri", "path"} {
				require.NoError(t, p.Check(field))
				require.Equal(t, want[i], string(p.Field(field)), field)
			}
		}
	}
}

// Members within others may have names with dots, as in logs of OpenTelemetry.
func TestNamesWithDots(t *testing.T) {
	p, _, err := New("json", nil, Options{Time: "log.time"})
	require.NoError(t, err)
	_, err = p.Parse([]byte(`{"log":{"time":1791640536},"a.b":1,"a":{"b":2,"b.c":3,"b.d":null},"x.y":{"z":4,"z.x":5},"s":"t"}`))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"a.b": "1", "a.b.c": "3", "a.b.d": "", "x.y.z": "4", "x.y.z.x": "5", "x.y": "", "s.t": "", ".": "", "a.": "", "x..y": "",
	} {
		require.Equal(t, want, string(p.Field(name)), name)
	}
}

// reference is member by package json. Of members of the same name it takes the first, too.
func reference(t *testing.T, value json.RawMessage, name string) []byte {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) == nil {
		for i, item := range items {
			if strconv.Itoa(i) == name {
				return item
			}
		}
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(value)))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		var member json.RawMessage
		require.NoError(t, d.Decode(&member))
		if key == name {
			return member
		}
	}
	return nil
}

// FuzzMember finds what package json finds, in any JSON.
func FuzzMember(f *testing.F) {
	f.Add(`{"a":{"b":[1,"x\\"]",null]} , "c" : -1e5,"\u0061":true,"a":2}`, "a")
	f.Add(`[ ]`, "0")
	f.Add(`[[],{},"",0 ]`, "2")
	f.Add(`{"":{}}`, "")
	f.Fuzz(func(t *testing.T, text, name string) {
		text = strings.TrimSpace(text)
		if !json.Valid([]byte(text)) || text == "null" {
			return
		}
		want := reference(t, json.RawMessage(text), name)
		require.Equal(t, string(want), string(member([]byte(text), name)), "%q of %q", name, text)
	})
}
