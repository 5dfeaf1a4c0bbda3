package script

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Keys makes Redis keys of the form prefix:1:{name:key}. The 1 is the version of the values. With
// it, two releases of weir in one fleet do not misread each other's values.
//
// A cluster hashes the part in braces. Bytes that have a meaning, here or in a pattern of Redis,
// are written as % and two hexadecimal digits. Then no other braces come before, and no two pairs
// of name and key are the same. A key that is too long is replaced by %~ and its SHA-256. No other
// key can begin with %~.
type Keys struct {
	before string
	maxLen int
}

// special are the bytes that have a meaning. In a name, a colon has one, too.
const special = `{}%*?[]\`

var inKeys, inNames = bytesOf(special), bytesOf(special + ":")

// bytesOf is the set of the bytes of s. To look a byte up in it is faster than in a string.
func bytesOf(s string) (set [256]bool) {
	for _, c := range []byte(s) {
		set[c] = true
	}
	return set
}

// The defaults of the stores of all clients, by which they find each other's keys.
const (
	DefaultPrefix    = "weir"
	DefaultMaxKeyLen = 128
)

// NewKeys returns the Keys for a prefix. Names and keys that are longer than maxLen bytes are
// hashed. The error is the predicate of a sentence about the prefix.
func NewKeys(prefix string, maxLen int) (Keys, error) {
	if i := strings.IndexFunc(prefix, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(special, c) }); i >= 0 {
		return Keys{}, fmt.Errorf("is %q with a %q, must be printable ASCII without spaces and * ? [ ] { } %% \\", prefix, prefix[i])
	}
	return Keys{prefix + ":1:{", maxLen}, nil
}

// Key returns the Redis key for a key of the limiter name.
func (k Keys) Key(name, key string) string {
	return k.before + k.part(name, &inNames) + ":" + k.part(key, &inKeys) + "}"
}

func (k Keys) part(s string, special *[256]bool) string {
	if len(s) > k.maxLen {
		sum := sha256.Sum256([]byte(s))
		return "%~" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	plain := 0
	for plain < len(s) && !special[s[plain]] {
		plain++
	}
	if plain == len(s) {
		return s
	}
	b := []byte(s[:plain])
	for _, c := range []byte(s[plain:]) {
		if special[c] {
			const hex = "0123456789ABCDEF"
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
