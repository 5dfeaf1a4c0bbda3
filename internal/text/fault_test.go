package text

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// causes is an error with a list of others, which may be empty.
type causes []error

func (c causes) Error() string   { return fmt.Sprint(len(c), " causes") }
func (c causes) Unwrap() []error { return c }

func TestWithin(t *testing.T) {
	limit, per := errors.New("weir: Limit is 0"), errors.New("Per is 0")
	both := fmt.Errorf("%w, and %w", limit, per)
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{limit, "weir: part 1: Limit is 0"},
		{errors.Join(limit, nil, per), "weir: part 1: Limit is 0\nweir: part 1: Per is 0"},
		{both, "weir: part 1: Limit is 0, and Per is 0"},
		{causes{limit}, "weir: part 1: 1 causes"},
		{causes{}, "weir: part 1: 0 causes"},
		{errors.Join(causes{nil}, per), "weir: part 1: 1 causes\nweir: part 1: Per is 0"},
	} {
		err := errors.Join(Within("part 1", test.err)...)
		if test.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, test.want)
	}
	assert.ErrorIs(t, errors.Join(Within("part 1", both)...), per)
}
