package weir

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R22: a table starts with one small segment. It has one for each few of the processors' goroutines once it
// has many keys, or many come and go.
func TestR22_TableGrowsWithTheKeys(t *testing.T) {
	for name, per := range map[string]time.Duration{"keys stay": time.Hour, "keys come and go": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			l := Must(New(TokenBucket{Limit: 1, Per: per}))
			l.Allow("k")
			m := l.mem.memory.Load()
			require.Len(t, m.dir.Load().segments, 1)
			require.Len(t, m.dir.Load().segments[0].Load().entries, minSlots)
			for i := range 1000 << m.firstDepth {
				l.Allow(fmt.Sprint(i))
			}
			segments := map[*segment]bool{}
			for i := range m.dir.Load().segments {
				s := m.dir.Load().segments[i].Load()
				segments[s] = true
				assert.GreaterOrEqual(t, s.depth, m.firstDepth)
			}
			assert.GreaterOrEqual(t, len(segments), 1<<m.firstDepth)
		})
	}
}
