package edge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/edge"
)

// Keys of different parts, or of different alternatives, are never equal, whatever bytes they
// contain.
func TestR11_CombinedKeysDiffer(t *testing.T) {
	texts := []string{"x", "1:x", "x1:x", ":", "1", "\x00", "\x001:x", "\x000:x", "x\x00", "x:", "2", "xxxxxxxxxx0", "11xxxxxxxxxx"}
	joined, alternatives := map[string][]string{}, map[string]int{}
	for _, a := range texts {
		for _, b := range append(texts, "") {
			key := edge.Join([]string{a, b})
			assert.NotContains(t, joined, key, "%q %q", a, b)
			joined[key] = []string{a, b}
			parts, ok := edge.Split(key)
			assert.True(t, ok)
			assert.Equal(t, joined[key], parts)
		}
		for i := range 12 {
			key := edge.Alternative(i, a)
			assert.NotContains(t, alternatives, key, "%d %q", i, a)
			alternatives[key] = i
		}
	}
	assert.Equal(t, "x", edge.Alternative(0, "x"), "the usual case is the key itself")
}

func TestSplit_OtherKeys(t *testing.T) {
	for _, key := range []string{"", "x", ":", "1:", "2:x", "-1:x", "1:x1", "1:x2:y", "99999999999999999999:x"} {
		parts, ok := edge.Split(key)
		assert.False(t, ok, key)
		assert.Empty(t, parts, key)
	}
}
