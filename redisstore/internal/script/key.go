package script

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Keys makes Redis keys, of the form prefix:1:{name:key}. The 1 is the version of the values, so that
// two releases of weir in one fleet do not misread each other's.
//
// What stands in braces is what a cluster hashes. So that no other braces come before, and that no two
// pairs of name and key are the same, bytes of them that have a meaning, here or in a pattern of
// Redis, are written as % and two hexadecimal digits. A key that is too long is replaced by %~ and its
// SHA-256, which no other way of writing one can begin with.
type Keys struct {
	before string
	maxLen int
}

// special are the bytes that have a meaning, and so does a colon in a name.
const special = `{}%*?[]\`

// What the stores of all clients have in common where nothing else is given, so that they find each
// other's keys.
const (
	DefaultPrefix    = "weir"
	DefaultMaxKeyLen = 128
)

// NewKeys returns the Keys for a prefix, and for names and keys that are hashed if they are longer than
// maxLen bytes.
func NewKeys(prefix string, maxLen int) (Keys, error) {
	if i := strings.IndexFunc(prefix, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(special, c) }); i >= 0 {
		return Keys{}, fmt.Errorf("weir: the prefix %q of a redisstore has a %q, must be printable ASCII without spaces and %s",
			prefix, prefix[i], "* ? [ ] { } % \\")
	}
	if maxLen < 1 {
		return Keys{}, fmt.Errorf("weir: the longest key of a redisstore is %d bytes, must be at least 1", maxLen)
	}
	return Keys{prefix + ":1:{", maxLen}, nil
}

// Key is where the state of a key of the limiter name is kept.
func (k Keys) Key(name, key string) string {
	return k.before + k.part(name, special+":") + ":" + k.part(key, special) + "}"
}

func (k Keys) part(s, special string) string {
	if len(s) > k.maxLen {
		sum := sha256.Sum256([]byte(s))
		return "%~" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b []byte
	for _, c := range []byte(s) {
		if strings.IndexByte(special, c) >= 0 {
			const hex = "0123456789ABCDEF"
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
