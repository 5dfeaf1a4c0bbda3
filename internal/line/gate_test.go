package line

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

// Each script has the callers that come to the gate of a key and leave, and the callers that are
// inside then. Lower case letters are callers that join, upper case letters are returns, and digits
// are renewals. "-x" leaves, "!x" gives up waiting, and "+1" says that one event is left. "~" is for
// a store over a network.
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
		{"A a 1 B 2 b C -A", "a"}, // those who join do so one after the other, in their order
		{"A a 1 B 2 b C -A -a", "b"},
		{"A a 1 B 2 b C -A -a -b", "1"},
		{"A a 1 B 2 b C -A -a -b -1", "BC"},
		{"A a 1 B 2 b C -A -a -b -1 -B -C", "2"},
		{"a A !A b", "ab"},
		{"a A B !A b", "a"},
		{"a A b !A -a", "b"},
		{"a A !A -a", ""},
		{"a 1 !1 -a B", "B"},
		{"A a b c d -A -a", "b"},
		{"A a b c d -A !c -a -b", "d"},
		{"A a b B c d -A", "a"},
		{"A a b B -A c -a", "b"}, // those who come later are of the next batch
		{"A a b B -A c -a -b", "B"},
		{"A a b c d -A +2", "a"},
		{"A a b c d -A +3", "abcd"}, // unless enough is left for all of them
		{"A a b c B -A -a +9", "bc"},
		{"A a -A b", "a"}, // nobody overtakes the last of a batch
		{"A a -A b -a c", "b"},
		{"A a -A b -a -b c d", "cd"},
		{"A a -A +0 b", "ab"},
		{"A a b c -A d +2", "abc"},
		{"A a b c -A d +3", "abcd"},
		{"A a b c -A d e f", "a"},
		{"~ A a b c -A d", "a"},
		{"~ A a b c -A d e", "abcde"}, // callers come faster than they start over a network
		{"~ A a b c -A -a d e", "b"},
		{"~ A a b c -A -a d e f", "bcdef"},
		{"~ A a b -A B d e", "ab"},
		{"~ A a b -A B d e -a -b", "B"},
		{"A a b +9", "A"},
		{"a B b c +9", "a"},
	} {
		synctest.Test(t, func(t *testing.T) {
			script, remote := strings.CutPrefix(test.script, "~")
			ls := Lines{Remote: remote}
			var mu sync.Mutex
			inside, leave := map[string]bool{}, map[string]context.CancelFunc{}
			for step := range strings.FieldsSeq(script) {
				switch who := strings.TrimLeft(step, "-!"); step[0] {
				case '+':
					ls.all["k"].together(int(step[1] - '0'))
				case '!':
					leave[who]()
				case '-':
					require.True(t, inside[who], "%s in %s", step, test.script)
					delete(inside, who)
					ls.all["k"].End()
				default:
					kind := Joining
					if who < "a" {
						kind = Returning
					}
					if who < "A" {
						kind = Renewing
					}
					var ctx context.Context
					ctx, leave[who] = context.WithCancel(t.Context())
					go func() {
						if _, _, err := ls.Start(ctx, "k", kind, &Waiter{N: 1, lines: &ls}); err == nil {
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
			assert.Equal(t, len(names) == 0, ls.Empty("k"), test.script)
			assert.True(t, ls.Empty("another"), test.script)
			assert.Equal(t, test.inside, strings.Join(names, ""), test.script)
			for _, cancel := range leave {
				cancel()
			}
			synctest.Wait()
			for range names {
				ls.all["k"].End()
			}
			assert.Empty(t, ls.all, test.script)
			assert.True(t, ls.Empty("k"), test.script)
		})
	}
}
