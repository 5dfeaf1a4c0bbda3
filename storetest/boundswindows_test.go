package storetest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWindowsThatFit(t *testing.T) {
	assert.True(t, fitWindows(nil, 1, 10))
	for _, c := range []struct {
		grants string // of one event each, in a window of 10 and with a limit of 2; digits are instants
		want   bool
	}{
		{"00", true},
		{"000", false},
		{"0099", true}, // the first began before 0
		{"00999", false},
		{"0 5 9 9", true},
	} {
		var grants []grant
		for _, at := range strings.ReplaceAll(c.grants, " ", "") {
			grants = append(grants, grant{n: 1, at: int64(at - '0')})
		}
		assert.Equal(t, c.want, fitWindows(grants, 2, 10), c.grants)
	}
}

// The answer is that of trying all windows.
func TestWindowsThatFit_AreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[bool]int{}
	for range 20_000 {
		const per, limit = 4, 3
		var grants []grant
		for at := int64(10); len(grants) < 1+random.IntN(8); at += random.Int64N(4) {
			grants = append(grants, grant{n: 1 + random.IntN(2), at: at})
		}
		want := triedToFit(grants, limit, per, 0)
		seen[want]++
		assert.Equal(t, want, fitWindows(grants, limit, per), "%+v", grants)
	}
	assert.Greater(t, seen[true], 1000)
	assert.Greater(t, seen[false], 1000)
}

// triedToFit tries all windows that start at the instant from or later.
func triedToFit(grants []grant, limit int, per, from int64) bool {
	if len(grants) == 0 {
		return true
	}
	for start := max(from, grants[0].at-per+1); start <= grants[0].at; start++ {
		n, i := 0, 0
		for ; i < len(grants) && grants[i].at < start+per; i++ {
			n += grants[i].n
		}
		if n <= limit && triedToFit(grants[i:], limit, per, start+per) {
			return true
		}
	}
	return false
}
