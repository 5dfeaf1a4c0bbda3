package weir_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// New refuses a store that was not made right.
func TestNew_RefusesAStoreNotMadeRight(t *testing.T) {
	for _, test := range notMadeRight {
		_, err := weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(test.store))
		assert.EqualError(t, err, test.want)
	}
}
