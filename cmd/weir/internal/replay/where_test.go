package replay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeyCostAndWhere(t *testing.T) {
	log := textLog("a", lineAt(1, "a"), lineAt(1, "b"), lineAt(2, "a"), lineAt(3, "c"))
	r := runOne(t, Config{Key: "cost"}, "sliding-log 3/1h", log)
	assert.Equal(t, 1, r.Clients)
	assert.Equal(t, 1, r.Policies[0].Refused)
	r = runOne(t, Config{Cost: "cost"}, "sliding-log 3/1h", log)
	assert.Equal(t, 1, r.Policies[0].Refused, "2 and 2 are more than 3")

	for where, left := range map[string]int{
		"": 4, "ip=a": 2, "ip!=a": 2, "ip~^[ab]$": 3, "ip!~[ab]": 1, "ip=a and path~^/a": 2, "ip=a and path=/b": 0,
		`ip="a"`: 2, `ip!="=a"`: 4, `ip!~'~'`: 4, "path='/a'  and ip~a": 2, "none=": 4, "none!=": 0,
		"ip~^(a|b)$": 3, "path=/a(": 0, "ip~(a) and path~(/a)": 2,
		"ip=a\n\tand\tpath=/a\n": 2,
	} {
		w, err := ParseWhere(where)
		require.NoError(t, err)
		r := runOne(t, Config{Where: w}, "1/1s", log)
		assert.Equal(t, left, r.Requests, where)
		assert.Equal(t, 4-left, r.Unselected, where)
	}
	for where, says := range map[string]string{
		"ip":            `where is "ip", at "ip" must be field=value, field!=value, field~regexp or field!~regexp`,
		"=a":            "must be field=value",
		"ip a=b":        "must be field=value",
		"ip!a":          "must be != or !~",
		"ip!":           "must be != or !~",
		"ip=a or ip=b":  `at "or ip=b" must be: and`,
		"ip=a and ":     `must have a condition after the last "and"`,
		`ip="a`:         "is not closed",
		"ip~(":          "missing closing )",
		"ip=a and and ": "must be field=value",
		"path=~^/a":     `at "path=~^/a" must be =, !=, ~ or !~ and a value, in quotes if that starts with = or ~`,
		"ip==a":         "must be =, !=, ~ or !~ and a value",
		"ip!==a":        "must be =, !=, ~ or !~ and a value",
		"ip=a and b~=":  "must be =, !=, ~ or !~ and a value",
		"cost>=2":       "must be =, !=, ~ or !~ and a value",
		"ip=a andip=b":  `at "andip=b" must be: and`,

		"(status!=404)":             `where is "(status!=404)", at byte 0: "(": must be a field without parentheses: conditions have only "and" between them`,
		" ip=a and (path~^/(a|b)) ": `at byte 10: "(": must be a field`,
		"not(ip=a)":                 `at byte 3: "(": must be a field`,
		"(ip":                       `at byte 0: "(": must be a field`,
	} {
		_, err := ParseWhere(where)
		assert.ErrorContains(t, err, says, where)
	}
}

// FuzzParseWhere reads any text. Each condition that is read has a field.
func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"ip=a and path~^/x", `a!="b c"  and d!~'e'`, "=", "a!", "a~("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := ParseWhere(s)
		if err != nil {
			require.ErrorContains(t, err, "where is ")
			return
		}
		require.Equal(t, strings.TrimSpace(s) == "", len(w.conditions) == 0)
		for _, c := range w.conditions {
			require.NotEmpty(t, c.field)
		}
	})
}
