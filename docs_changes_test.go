package weir_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

var changeRow = regexp.MustCompile("(?m)^\\| `(.*)` \\| (\\d+) \\| `(.*)` \\| (\\d+) of (\\d+) \\| (\\d+) after (\\w+) \\|$")

// docs/limits.md has a table of what a key keeps when its policy changes.
func TestDocsChanges(t *testing.T) {
	text, err := os.ReadFile("docs/limits.md")
	require.NoError(t, err)
	rows := changeRow.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 12)
	for _, row := range rows {
		t.Run(row[1]+" to "+row[3], func(t *testing.T) {
			number := func(i int) int {
				n, err := strconv.Atoi(row[i])
				require.NoError(t, err)
				return n
			}
			policy := func(i int) weir.Policy {
				p, err := weir.ParsePolicy(row[i])
				require.NoError(t, err)
				return p
			}
			mock := clock.NewMock()
			l := weir.Must(weir.New(policy(1), weir.WithClock(mock)))
			require.True(t, kit.Take(t, l, "k", number(2)).Allowed)
			kit.SetPolicy(t, l, policy(3))
			mock.Add(time.Second / 100)
			r := kit.Take(t, l, "k", 1<<20) // from here the share counts
			require.False(t, r.Allowed)
			assert.Equal(t, number(4), r.Remaining)
			assert.Equal(t, number(5), r.Limit)

			later, err := time.ParseDuration(row[7])
			require.NoError(t, err)
			mock.Add(later)
			assert.Equal(t, number(6), kit.Take(t, l, "k", 0).Remaining)
		})
	}
}

// Two buckets of different rates may pass their sum, says docs/limits.md, and no more.
func TestDocsChangesTwoRates(t *testing.T) {
	policies := []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.TokenBucket{Limit: 9, Per: time.Second},
	}
	const seconds = 100
	l, clock := kit.Frozen(policies[0])
	granted := 0
	for i := range seconds * 100 {
		kit.SetPolicy(t, l, policies[i%2])
		if l.Allow("k") {
			granted++
		}
		clock.Time = clock.Add(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, granted, 10+9+19*seconds)
	assert.GreaterOrEqual(t, granted, 9*seconds)
}
