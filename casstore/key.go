package casstore

import (
	"crypto/sha256"
	"encoding/base64"
)

// The longest name and key in bytes, as they stand in a key of a Register. The separators and the
// prefix take less than the rest of 200.
const (
	maxName = 64
	maxKey  = 128
)

// keyPrefix has the version of the values. Two releases whose values differ then do not misread
// each other's values.
const keyPrefix = "weir/1/"

// Key returns the key in a [Register] for a key of the limiter with that name:
//
//	weir/1/logins/ada
//	weir/1/api/2001=3Adb8=3A=3A1
//
// Two different pairs of name and key never have the same result, whatever bytes they contain. The
// result is suitable as a key of memcached, of NATS and of etcd, and for columns of text that
// distinguish upper and lower case:
//
//   - It has at most 200 bytes.
//   - It consists of ASCII letters, digits, and the characters - _ . / =
//   - Slashes divide it into parts. No part begins or ends with a dot, or has two dots in a row.
//
// In a name or key, ASCII letters, digits, - and _ stand for themselves, and so do dots that the
// last rule allows. All other bytes, also / and =, are written as = and two hexadecimal digits. If
// the name, written in this way, is longer than 64 bytes, it is replaced by =- and its SHA-256 in
// base64. The key is replaced, too, if it is longer than 128 bytes when written in this way.
//
// If other programs use the same server, a Register can put a prefix of its own before the result.
func Key(name, key string) string {
	b := make([]byte, 0, len(keyPrefix)+len(name)+1+len(key))
	b = append(b, keyPrefix...)
	b = appendPart(b, name, maxName)
	b = append(b, '/')
	return string(appendPart(b, key, maxKey))
}

func appendPart(b []byte, part string, most int) []byte {
	const hex = "0123456789ABCDEF"
	start := len(b)
	for i := range len(part) {
		if c := part[i]; isSafe(part, i) {
			b = append(b, c)
		} else {
			b = append(b, '=', hex[c>>4], hex[c&15])
		}
		if len(b)-start > most {
			sum := sha256.Sum256([]byte(part))
			return base64.RawURLEncoding.AppendEncode(append(b[:start], "=-"...), sum[:])
		}
	}
	return b
}

// isSafe reports whether a byte of a name or key stands for itself.
func isSafe(part string, i int) bool {
	switch c := part[i]; {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_':
		return true
	case c == '.':
		return 0 < i && i < len(part)-1 && part[i-1] != '.' && part[i+1] != '.'
	}
	return false
}
