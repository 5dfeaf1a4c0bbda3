package refusallog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/refusallog"
)

// Keys that clients might choose to forge lines, or to command the terminal of a reader.
var hostile = map[string]string{
	"ada\nlevel=ERROR msg=forged":       `"ada\nlevel=ERROR msg=forged"`,
	"ada\r\n{\"level\":\"ERROR\"}":      `"ada\r\n{\"level\":\"ERROR\"}"`,
	"a=b c=d":                           `a=b c=d`,
	`ada" level=ERROR`:                  `ada" level=ERROR`,
	`"quoted"`:                          `"\"quoted\""`,
	"\x1b[2J\x1b]0;title\a":             `"\x1b[2J\x1b]0;title\a"`,
	"\u009b2J":                          `"\u009b2J"`,
	"\u202eevil\u2066":                  `"\u202eevil\u2066"`,
	"\u2028line\u2029":                  `"\u2028line\u2029"`,
	"\x00\xff\xfe":                      `"\x00\xff\xfe"`,
	"\ufeff\u200b":                      `"\ufeff\u200b"`,
	"Gr\u00fc\u00dfe \u4e16":            "Gr\u00fc\u00dfe \u4e16",
	"":                                  "",
	strings.Repeat("a", 501):            strings.Repeat("a", 500) + "...",
	strings.Repeat("a", 499) + "\u4e16": strings.Repeat("a", 499) + "...",
	strings.Repeat("\x01", 8<<20):       `"` + strings.Repeat(`\x01`, 500) + `"...`,
}

// Whatever is in a key or an error, a refusal is one line, with the fields that it should have, and
// nothing in it that a terminal would obey.
func TestHostileText(t *testing.T) {
	for text, want := range hostile {
		l, w := newJSON(t, refusallog.Options{Key: wholeKey})
		l.Refused(ctx, weir.Refusal{Key: text, N: 1, Err: errors.New(text), Enforced: true})
		lines := w.lines(t)
		require.Len(t, lines, 1, "%q", text)
		assert.Equal(t, want, lines[0]["key"], "%q", text)
		assert.Equal(t, want, lines[0]["error"], "%q", text)
		assert.Len(t, lines[0], 8, "%q", text)
		checkPlain(t, w.text())

		l, w = newText(t, refusallog.Options{Key: wholeKey})
		l.Refused(ctx, weir.Refusal{Key: text, N: 1, Enforced: true})
		assert.Equal(t, 1, strings.Count(w.text(), "\n"), "%q", text)
		checkPlain(t, w.text())
	}
}

// checkPlain checks that a line has no control characters, nor others that are not printed.
func checkPlain(t *testing.T, line string) {
	line = strings.TrimSuffix(line, "\n")
	assert.True(t, utf8.ValidString(line), "%q", line)
	for _, r := range line {
		assert.Truef(t, r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) && !strings.ContainsRune("\u202e\u2066\u2028\u2029\ufeff\u200b", r),
			"%q in %q", r, line)
	}
}

// Two keys never look the same, if they are short enough.
func FuzzKeysStayApart(f *testing.F) {
	for text, want := range hostile {
		if len(text) < 100 {
			f.Add(text, want)
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b || max(len(a), len(b)) > 500 {
			return
		}
		logged := func(key string) any {
			var w bytes.Buffer
			l, err := refusallog.New(slog.New(slog.NewJSONHandler(&w, nil)), "login", refusallog.Options{Key: wholeKey})
			require.NoError(t, err)
			l.Refused(ctx, weir.Refusal{Key: key, N: 1, Enforced: true})
			checkPlain(t, w.String())
			var fields map[string]any
			require.NoError(t, json.Unmarshal(w.Bytes(), &fields))
			return fields["key"]
		}
		assert.NotEqual(t, logged(a), logged(b))
	})
}
