package casstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// fuzzed are policies of every form of state.
func fuzzed() []weir.Policy {
	hour := weir.TokenBucket{Limit: 5, Per: time.Hour}
	log := weir.SlidingLog{Limit: 6, Per: time.Hour}
	return []weir.Policy{
		hour,
		weir.LeakyBucket{Limit: 3, Per: time.Hour},
		weir.TokenBucket{Limit: 299_993, Per: 24 * time.Hour},
		weir.FixedWindow{Limit: 5, Per: time.Hour},
		weir.FixedWindow{Limit: 5, Per: time.Hour, FromFirst: true},
		weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 6},
		log,
		weir.CalendarWindow{Limit: 5, Unit: weir.Month},
		weir.All(hour, log),
		weir.Tiers(hour, weir.All(log, weir.CalendarWindow{Limit: 5, Unit: weir.Day})),
		weir.SingleRateMarker{Committed: hour, Excess: 3},
		weir.TwoRateMarker{Committed: hour, Peak: weir.TokenBucket{Limit: 7, Per: time.Hour}},
		made{func() weir.Policy { return log }},
	}
}

// R21: whatever bytes a server has for a key, each call returns: with an answer, or with an error
// that is about that request alone, after which the bytes are still there.
//
// The second policy is one that the key is asked by in turn. Values of several policies are among
// the seeds.
func FuzzR21_AnyValue(f *testing.F) {
	m := newMemory()
	store := casstore.New(m, casstore.Options{Timeout: time.Hour})
	key := casstore.Key("n", "k")
	ps := fuzzed()
	var ls []*weir.KeyedLimiter
	for _, p := range ps {
		ls = append(ls, newLimiter(f, store, p, weir.WithName("n")))
	}
	f.Add([]byte("hello"), uint8(0), uint8(1), uint16(0), uint8(0))
	for i := range ps {
		for _, j := range []int{i, (i + 1) % len(ps), (i + 5) % len(ps)} {
			delete(m.values, key)
			for range 3 {
				ls[i].Allow("k")
				ls[j].Allow("k")
			}
			value := m.values[key].Value
			f.Add(value, uint8(i), uint8(j), uint16(0), uint8(0))
			f.Add(value, uint8(j), uint8(i), uint16(8*len(value)-9), uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, value []byte, first, second uint8, bit uint16, n uint8) {
		if at := int(bit / 8); at < len(value) {
			value[at] ^= 1 << (bit % 8)
		}
		m.set(func(m *memory) { m.values[key] = casstore.Entry{Value: value, Version: -1} })
		check := func(err error) {
			if err == nil {
				return
			}
			if !errors.Is(err, weir.ErrRequest) || errors.Is(err, casstore.ErrBusy) {
				t.Fatalf("by %v and %v, on %q: %v", ps[int(first)%len(ps)], ps[int(second)%len(ps)], value, err)
			}
		}
		for _, i := range []uint8{first, second} {
			l := ls[int(i)%len(ps)]
			before := m.values[key].Version
			_, err := l.Take(t.Context(), "k", 0)
			check(err)
			_, err = l.Take(t.Context(), "k", 1+int(n%4))
			check(err)
			if err != nil {
				require.Equal(t, before, m.values[key].Version)
			}
			_, _, err = l.TakeUpTo(t.Context(), "k", int(n))
			check(err)
			r, err := l.Reserve(t.Context(), "k", 1)
			check(err)
			check(l.Return(t.Context(), "k", 1+int(n%3)))
			if r != nil {
				check(r.Settle(t.Context(), int(n%5)))
			}
		}
	})
}
