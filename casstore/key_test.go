package casstore_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/casstore"
)

var (
	natsKey = regexp.MustCompile(`^[-/_=\.a-zA-Z0-9]+$`) // as in its client
	badDots = regexp.MustCompile(`\.\.|/\.|\./|\.$`)
)

// R11: two keys are never the same, and each suits all servers.
func FuzzR11_Key(f *testing.F) {
	long := strings.Repeat("a", 65)
	for _, s := range [][4]string{
		{"a", "b:c", "a:b", "c"},
		{"a", "b/c", "a/b", "c"},
		{"", "", "", "\x00"},
		{"a", "", "", "a"},
		{"=2F", "=-", "/", "="},
		{long, "", long[1:], ""},
		{"", long + long, "", long + long + "\x00"},
		{".", "..", "a.b", ".a.b."},
		{"logins", "10.0.0.1", "logins", "10.0.0.1 "},
		{"é", "世界", "\xff", "\xfe"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, name, key, otherName, otherKey string) {
		got, other := casstore.Key(name, key), casstore.Key(otherName, otherKey)
		if (got == other) != (name == otherName && key == otherKey) {
			t.Fatalf("%q of %q, and %q of %q: %q", key, name, otherKey, otherName, got)
		}
		if len(got) > 200 || !natsKey.MatchString(got) || badDots.MatchString(got) {
			t.Fatalf("%q of %q: %q, %d bytes", key, name, got, len(got))
		}
	})
}

// Keys outlive the process. If a later release made others, every key would have a fresh allowance.
func TestKeysStay(t *testing.T) {
	for want, of := range map[string][2]string{
		"weir/1//":                   {"", ""},
		"weir/1/api/10.0.0.1":        {"api", "10.0.0.1"},
		"weir/1/a.b=2F/=2E=2E=2E=C3": {"a.b/", "...\xc3"},
		"weir/1/=3D-/a=20b-c":        {"=-", "a b\x2dc"},
		"weir/1/n/=-kJQDT7LQzi5AfJsmDygGqy77NS4gByL9YpbZzxz35vU": {"n", strings.Repeat("k", 129)},
	} {
		assert.Equal(t, want, casstore.Key(of[0], of[1]))
	}
}
