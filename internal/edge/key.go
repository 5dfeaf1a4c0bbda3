package edge

import (
	"strconv"
	"strings"
)

// Join returns a key that combines all parts. It is equal for equal parts only, whatever bytes are
// in them. The length of each part is written before it: no part can look like the start of the
// next.
func Join(parts []string) string {
	size := 0
	for _, part := range parts {
		size += len(part) + len("1234:")
	}
	var short [128]byte
	b := short[:0]
	if size > len(short) {
		b = make([]byte, 0, size)
	}
	for _, part := range parts {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(b, ':')
		b = append(b, part...)
	}
	return string(b)
}

// Split returns the parts of which Join has made a key. It reports false for a key that it cannot
// divide into parts with their lengths.
func Split(key string) (parts []string, ok bool) {
	for key != "" {
		size, rest, found := strings.Cut(key, ":")
		n, err := strconv.Atoi(size)
		if !found || err != nil || n < 0 || n > len(rest) {
			return nil, false
		}
		parts, key = append(parts, rest[:n]), rest[n:]
	}
	return parts, len(parts) > 0
}

// Alternative marks key as the key of alternative i of several, by a zero byte and the number i.
// Keys of different alternatives are never equal. Alternative 0 needs no mark, unless its key
// starts with a zero byte. The usual case costs nothing. key must not be empty.
func Alternative(i int, key string) string {
	if i == 0 && key[0] != 0 {
		return key
	}
	return "\x00" + strconv.Itoa(i) + ":" + key
}
