package table

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// A table is driven at random beside a plain map. It keeps states that have not expired as they
// were put, and never has more keys than it may. All states that it drops have expired.
func TestTableBesideAMap(t *testing.T) {
	for seed := range uint64(runs.Long(20, 6)) {
		random := rand.New(rand.NewPCG(seed, 1))
		maxKeys := []int{0, 20, 1000}[seed%3]
		join := newTable(t, maxKeys)
		users := []*user{join(true), join(false), join(true), join(false)}
		time, table := users[0].time, users[0].Table
		kept := map[int]Content{}
		for range 20_000 {
			key, u := random.IntN(2000), users[random.IntN(len(users))]
			switch random.IntN(10) {
			case 0:
				time.now.Add(random.Int64N(500))
			case 1:
				u.Forget(u.hash(key))
				delete(kept, key)
			case 2, 3, 4:
				found, want := u.get(key), kept[key]
				if found.By == nil && want.By != nil {
					require.LessOrEqual(t, want.Words[0], uint64(time.Now()), "forgotten too early")
					delete(kept, key)
					continue
				}
				require.Equal(t, want, found)
			default:
				c := Content{u.Writer, []uint64{uint64(time.Now() + random.Int64N(2000))}}
				for !u.Single && random.IntN(8) > 0 {
					c.Words = append(c.Words, random.Uint64())
				}
				if u.put(key, slices.Clone(c.Words)...) {
					kept[key] = c
				} else {
					require.True(t, table.Full())
					delete(kept, key) // if it was there, it had expired
				}
			}
			if maxKeys > 0 {
				require.LessOrEqual(t, table.Len(), maxKeys)
			}
		}
		time.now.Store(1 << 40)
		table.each(func(s *Segment) { table.sweep(s, len(s.entries)) })
		assert.Zero(t, table.Len(), "all have expired")
		for _, u := range users {
			u.Leave(u.Writer)
		}
		assert.Zero(t, table.Writers(), "nobody uses the table, and it is empty")
		for _, p := range table.slab.pages.Load().all {
			assert.True(t, p == nil || p.used.Load() == 0, "a block of no entry")
		}
	}
}
