package redisstore

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// processes are two stores on one server that have the same clock, and do not know each other's
// policies.
type processes [2]*drivenStore

func newProcesses(t *testing.T, client *redis.Client) (p processes) {
	for i := range p {
		p[i] = newDrivenWith(t, client, serverSkew, remote.Config{Prefix: t.Name()})
	}
	return p
}

func (p processes) set(now time.Time) {
	for _, s := range p {
		s.set(now)
	}
}

// P10: a composed policy is changed while its old form is still in use. The long part is filled by
// what both of them grant, however short the other is, and however fast it recovers.
func TestP10_ChangedPartsAreCarriedByThemselves(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	month := runs.Long(200, 60)
	burst := func(limit int) weir.Policy { return weir.TokenBucket{Limit: limit, Per: time.Second} }
	calendar := weir.CalendarWindow{Limit: month, Unit: weir.Month, Location: "Europe/Berlin"}
	sum := weir.FixedWindow{Limit: month, Per: 30 * 24 * time.Hour, FromFirst: true}
	for name, c := range map[string]struct{ old, changed weir.Policy }{
		"All":           {weir.All(burst(10), calendar), weir.All(burst(20), calendar)},
		"All in All":    {weir.All(burst(10), weir.All(calendar, sum)), weir.All(burst(20), weir.All(calendar, sum))},
		"part added":    {weir.All(burst(10), calendar), weir.All(burst(10), calendar, sum)},
		"a single part": {calendar, weir.All(burst(20), calendar)},
	} {
		t.Run(name, func(t *testing.T) {
			both := newProcesses(t, client)
			now := time.Date(2033, 5, 2, 3, 0, 0, 0, time.UTC)
			both.set(now)
			old, changed := newLimiter(t, both[0], c.old, ""), newLimiter(t, both[1], c.changed, "")
			granted := 0
			for range month {
				for _, l := range []*weir.KeyedLimiter{old, changed} { // one by one, so that the short part is never short
					if take(t, l, "k", 1).Allowed {
						granted++
					}
				}
				now = now.Add(2 * time.Second)
				both.set(now)
			}
			assert.Equal(t, month, granted, "side by side")
			for i, ps := range [][2]weir.Policy{{c.old, c.changed}, {c.changed, c.old}} {
				both := newProcesses(t, client)
				first, then := newLimiter(t, both[0], ps[0], "after"), newLimiter(t, both[1], ps[1], "after")
				granted := 0
				for _, c := range []struct {
					l    *weir.KeyedLimiter
					asks int
				}{{first, month - 20}, {then, month / 2}} {
					for range c.asks {
						both.set(now)
						if take(t, c.l, fmt.Sprint(i), 1).Allowed {
							granted++
						}
						now = now.Add(2 * time.Second)
					}
				}
				assert.Equal(t, month, granted, "%v after %v", ps[1], ps[0])
			}
		})
	}
}

// The same for policies of other kinds that have no script: each part keeps what it has.
func TestP10_ChangedMarkersAndTiers(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	hour := func(limit int) weir.TokenBucket { return weir.TokenBucket{Limit: limit, Per: time.Hour} }
	for name, c := range map[string]struct{ old, changed weir.Policy }{
		"Tiers":         {weir.Tiers(hour(10), hour(100)), weir.Tiers(hour(20), hour(100))},
		"TwoRateMarker": {weir.TwoRateMarker{Committed: hour(10), Peak: hour(100)}, weir.TwoRateMarker{Committed: hour(20), Peak: hour(100)}},
		"month":         {weir.CalendarWindow{Limit: 100, Unit: weir.Month}, weir.CalendarWindow{Limit: 1000, Unit: weir.Month}},
	} {
		t.Run(name, func(t *testing.T) {
			both := newProcesses(t, client)
			now := time.Date(2033, 5, 2, 3, 0, 0, 0, time.UTC)
			both.set(now)
			old, changed := newLimiter(t, both[0], c.old, ""), newLimiter(t, both[1], c.changed, "")
			for range 15 {
				require.True(t, old.Allow("k"))
			}
			// as in memory, where one store knows both
			inMemory := new(weir.MemStore)
			clock := weir.WithClock(stoppedClock(now))
			first := weir.Must(weir.New(c.old, weir.WithStore(inMemory), weir.WithName("shared"), clock))
			second := weir.Must(weir.New(c.changed, weir.WithStore(inMemory), weir.WithName("shared"), clock))
			for range 15 {
				require.True(t, first.Allow("k"))
			}
			assert.Equal(t, take(t, second, "k", 1), take(t, changed, "k", 1))
		})
	}
}
