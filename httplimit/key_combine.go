package httplimit

import (
	"errors"
	"net/http"

	"github.com/weir-go/weir/internal/edge"
)

// Join returns a KeyFunc whose key combines the keys of all the given KeyFuncs. Requests share an
// allowance only if all of these keys are equal. Keys may contain any bytes, or be empty. The
// returned KeyFunc returns the first error of the given KeyFuncs, including [ErrSkip].
func Join(keys ...KeyFunc) KeyFunc {
	keys = append([]KeyFunc(nil), keys...)
	return func(r *http.Request) (string, error) {
		var few [4]string
		parts := few[:0]
		for _, key := range keys {
			part, err := key(r)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return edge.Join(parts), nil
	}
}

// Or returns a KeyFunc that tries the given KeyFuncs in order, and returns the first key that one
// of them finds. It tries the next one if the error wraps [ErrNoKey], or if the key is empty. It
// returns any other error, including [ErrSkip], at once. If none finds a key, it returns an error.
//
// Keys of different functions are never equal: a client that sends an address as its API key does
// not use up the allowance of that address. The keys of the first function stay as they are, unless
// they begin with a zero byte. Keys of the second begin with a zero byte and "1:", and keys of the
// third with a zero byte and "2:".
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
				return edge.Alternative(i, key), nil
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
