package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newKeys(tb testing.TB, prefix string, maxLen int) Keys {
	k, err := NewKeys(prefix, maxLen)
	require.NoError(tb, err)
	return k
}

func TestKeys(t *testing.T) {
	k := newKeys(t, "weir", 20)
	for _, c := range []struct{ name, key, want string }{
		{"login", "alice", "weir:1:{login:alice}"},
		{"", "", "weir:1:{:}"},
		{"login", "a:b", "weir:1:{login:a:b}"},
		{"login:a", "b", "weir:1:{login%3Aa:b}"},
		{"login", "}{x}", "weir:1:{login:%7D%7Bx%7D}"},
		{"login", "100%", "weir:1:{login:100%25}"},
		{"login", `*?[a]\`, "weir:1:{login:%2A%3F%5Ba%5D%5C}"},
		{"login", "\x00\r\n\xff", "weir:1:{login:\x00\r\n\xff}"},
		{"login", strings.Repeat("a", 20), "weir:1:{login:aaaaaaaaaaaaaaaaaaaa}"},
		{"login", strings.Repeat("a", 21), "weir:1:{login:%~ffjimcg03hmOJkw-N0vFjs2TgiUqcFwYO-sC8nVXHjs}"},
	} {
		assert.Equal(t, c.want, k.Key(c.name, c.key), "%q %q", c.name, c.key)
	}
}

// A short key can't be made that is kept where a long one is, or under another name.
func TestR11_KeysAreToldApart(t *testing.T) {
	k := newKeys(t, "weir", 20)
	seen := map[string][2]string{}
	long := strings.Repeat("x", 21)
	inside := strings.TrimSuffix(strings.TrimPrefix(k.Key("", long), "weir:1:{:"), "}")
	parts := []string{
		"", ":", "%", "%~", inside, inside[:20], long, long + "x", "a:b", "a%3Ab", "a%3ab", "}", "{", "{}", "%7D",
		"%257D", "a}:{b", "a", "b", "a:", ":b", "\x00", "A", "é", "\xff",
	}
	for _, name := range parts {
		for _, key := range parts {
			got := k.Key(name, key)
			if before, ok := seen[got]; ok {
				t.Errorf("%q and %q are both kept at %q", before, [2]string{name, key}, got)
			}
			seen[got] = [2]string{name, key}
		}
	}
}

func TestPrefixes(t *testing.T) {
	for _, prefix := range []string{"a b", "a{b", "a}b", "*", "a%", "a\n", "é", "a?", "[", "]", `\`} {
		_, err := NewKeys(prefix, 100)
		assert.ErrorContains(t, err, "must be printable ASCII", "%q", prefix)
	}
	newKeys(t, "", 1)
	newKeys(t, "staging:weir-2/x_y.z", 1)
}

// hashTag is what a cluster hashes of a key.
func hashTag(key string) string {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '}'); j > 0 {
			return key[i+1 : i+1+j]
		}
	}
	return key
}

func FuzzKeys(f *testing.F) {
	f.Add("login", "alice", "login", "bob")
	f.Add("a:b", "c", "a", "b:c")
	f.Add("a", "}{b}", "a", "}")
	f.Add("", "%~", "", strings.Repeat("x", 50))
	f.Fuzz(func(t *testing.T, name, key, otherName, otherKey string) {
		k := newKeys(t, "weir", 30)
		got := k.Key(name, key)
		if same := name == otherName && key == otherKey; same != (got == k.Key(otherName, otherKey)) {
			t.Errorf("%q %q and %q %q: same key: %v", name, key, otherName, otherKey, !same)
		}
		if tag := hashTag(got); "weir:1:{"+tag+"}" != got {
			t.Errorf("%q %q is kept at %q, of which a cluster hashes %q", name, key, got, tag)
		}
		if strings.ContainsAny(got, `*?[]\`) {
			t.Errorf("%q has characters of a pattern", got)
		}
		if most := len("weir:1:{:}") + 2*max(3*30, 45); len(got) > most {
			t.Errorf("%q has %d bytes, more than %d", got, len(got), most)
		}
	})
}
