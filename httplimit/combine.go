package httplimit

import (
	"errors"
	"net/http"
	"strconv"
)

// Join returns a KeyFunc whose key has a part from each of keys: requests share an allowance only if
// all their parts are the same, whatever bytes the parts hold. An error of a part is the error
// of the whole, and so is [ErrSkip].
func Join(keys ...KeyFunc) KeyFunc {
	keys = append([]KeyFunc(nil), keys...)
	return func(r *http.Request) (string, error) {
		var few [4]string
		parts, size := few[:0], 0
		for _, key := range keys {
			part, err := key(r)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
			size += len(part) + len("1234:")
		}
		// Each part after its length, so that no part can look like the start of the next.
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
		return string(b), nil
	}
}

// Or returns a KeyFunc whose key is that of the first of keys that finds one; the next is tried if
// the error wraps [ErrNoKey], or the key is empty. Any other error, and [ErrSkip], is the error of
// the whole.
//
// Keys of different functions are never the same: a client that sends an address as its
// API key does not use up the allowance of that address.
func Or(keys ...KeyFunc) KeyFunc {
	keys = append([]KeyFunc(nil), keys...)
	return func(r *http.Request) (string, error) {
		err := errNoAlternative
		for i, find := range keys {
			key, e := find(r)
			switch {
			case e == nil && key == "":
				err = errEmptyKey
			case e == nil:
				return alternative(i, key), nil
			case errors.Is(e, ErrNoKey):
				err = e
			default:
				return "", e
			}
		}
		return "", err
	}
}

var errNoAlternative = errors.New("weir: Or of no KeyFunc")

// alternative marks key as that of the i-th alternative, by a zero byte and the number. The first
// needs no mark, unless its key starts with a zero byte; so the usual case costs nothing.
func alternative(i int, key string) string {
	if i == 0 && key[0] != 0 {
		return key
	}
	return "\x00" + strconv.Itoa(i) + ":" + key
}
