package weir

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A script of who comes to the gate of a key and who leaves, and who is inside then. Lower case are those who join,
// upper case returns, digits renewals; "-x" leaves, and "!x" gives up waiting.
func TestGate(t *testing.T) {
	for _, test := range []struct{ script, inside string }{
		{"a b c", "abc"},
		{"A B C", "ABC"},
		{"1 2", "1"},
		{"1 2 -1", "2"},
		{"a A", "a"},
		{"a A b B", "a"},
		{"a A b B -a", "AB"},
		{"a A b B -a -A", "B"},
		{"a A b B -a -A -B", "b"},
		{"a A b B -a C D -A -B", "b"}, // whatever returns come, they do not hold up the booking for ever
		{"a A b B -a C D -A -B -b", "CD"},
		{"A a 1 B 2 b C -A", "ab"},
		{"A a 1 B 2 b C -A -a -b", "1"},
		{"A a 1 B 2 b C -A -a -b -1", "BC"},
		{"A a 1 B 2 b C -A -a -b -1 -B -C", "2"},
		{"a A !A b", "ab"},
		{"a A B !A b", "a"},
		{"a A b !A -a", "b"},
		{"a A !A -a", ""},
		{"a 1 !1 -a B", "B"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ls lines
			var mu sync.Mutex
			inside, leave := map[string]bool{}, map[string]context.CancelFunc{}
			for step := range strings.FieldsSeq(test.script) {
				switch who := strings.TrimLeft(step, "-!"); step[0] {
				case '!':
					leave[who]()
				case '-':
					require.True(t, inside[who], "%s in %s", step, test.script)
					delete(inside, who)
					ls.end(ls.all["k"])
				default:
					kind := joining
					if who < "a" {
						kind = returning
					}
					if who < "A" {
						kind = renewing
					}
					var ctx context.Context
					ctx, leave[who] = context.WithCancel(t.Context())
					go func() {
						if _, _, err := ls.start(ctx, "k", kind); err == nil {
							mu.Lock()
							defer mu.Unlock()
							inside[who] = true
						}
					}()
				}
				synctest.Wait()
			}
			var names []string
			for name := range inside {
				names = append(names, name)
			}
			slices.Sort(names)
			assert.Equal(t, test.inside, strings.Join(names, ""), test.script)
			for _, cancel := range leave {
				cancel()
			}
			synctest.Wait()
			for range names {
				ls.end(ls.all["k"])
			}
			assert.Empty(t, ls.all, test.script)
		})
	}
}
