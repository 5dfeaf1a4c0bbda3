package grpclimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/internal/edge"
)

// Join returns a KeyFunc whose key combines the keys of all the given KeyFuncs. Calls share an
// allowance only if all of these keys are equal. Keys may contain any bytes, or be empty. The
// returned KeyFunc returns the first error of the given KeyFuncs, including [ErrSkip].
func Join(keys ...KeyFunc) KeyFunc {
	keys = append([]KeyFunc(nil), keys...)
	return func(ctx context.Context, c Call) (string, error) {
		var few [4]string
		parts := few[:0]
		for _, key := range keys {
			part, err := key(ctx, c)
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
// Keys of different functions are never equal. A client that sends an address as its API key does
// not use up the allowance of that address.
func Or(keys ...KeyFunc) KeyFunc {
	keys = append([]KeyFunc(nil), keys...)
	return func(ctx context.Context, c Call) (string, error) {
		err := errNoAlternative
		for i, find := range keys {
			key, e := find(ctx, c)
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

var (
	errNoAlternative = errors.New("weir: Or of no KeyFunc")
	errEmptyKey      = fmt.Errorf("weir: a KeyFunc returned an empty key: %w", ErrNoKey)
)
