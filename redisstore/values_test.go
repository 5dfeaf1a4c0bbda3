package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A state may be of a policy that only another process knows. A process that does not know the
// policy charges what it has used up.
func TestUnknownPolicyIsCharged(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	old := newLimiter(t, newStore(t, client), inGo{weir.TokenBucket{Limit: 10, Per: 1000 * time.Hour}}, "")
	take(t, old, "k", 4)
	take(t, old, "all", 10)
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: 50 * 365 * 24 * time.Hour},
		inGo{weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}},
	} {
		other := newLimiter(t, newStore(t, client), p, "")
		assert.Equal(t, 60, take(t, other, "k", 0).Remaining)
		assert.False(t, other.Allow("all"))
	}
	assert.Equal(t, 6, take(t, old, "k", 0).Remaining, "looks have kept nothing")
	other := newLimiter(t, newStore(t, client), inGo{weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}}, "")
	assert.Equal(t, 50, take(t, other, "k", 10).Remaining)
	assert.Equal(t, 5, take(t, old, "k", 0).Remaining)
}

// made has a function that makes the policy. Nothing else tells what it allows.
type made struct{ policy func() weir.Policy }

func (m made) Decider() (weir.Decider, error) { return m.policy().Decider() }

// Policies that can't be told apart are decided on by their own deciders all the same.
func TestPoliciesOfFunctions(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	s := newStore(t, client)
	of := func(limit int) weir.Policy {
		return made{func() weir.Policy { return weir.FixedWindow{Limit: limit, Per: 1000 * time.Hour, FromFirst: true} }}
	}
	for limit := 1; limit <= 3; limit++ {
		l := newLimiter(t, s, of(limit), fmt.Sprint(limit))
		assert.Equal(t, limit, take(t, l, "k", 1).Remaining+1)
		assert.Equal(t, limit == 1, !l.Allow("k"))
	}
	// One is replaced: a store that has seen others like it does not take their state for theirs.
	take(t, newLimiter(t, s, of(100), "changed"), "k", 50)
	newLimiter(t, s, of(1000), "other").Allow("k")
	changed := newLimiter(t, s, weir.SlidingLog{Limit: 10, Per: 1000 * time.Hour}, "changed")
	assert.Equal(t, 5, take(t, changed, "k", 0).Remaining)
}

// A value at a limiter's key that is not one of its states is an error, and stays there.
func TestForeignValues(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	ctx := context.Background()
	s := newStore(t, client)
	for name, p := range map[string]weir.Policy{
		"script": weir.TokenBucket{Limit: 1, Per: time.Hour},
		"log":    weir.SlidingLog{Limit: 1, Per: time.Hour},
		"none":   inGo{weir.SlidingLog{Limit: 1, Per: time.Hour}},
	} {
		l := newLimiter(t, s, p, name)
		for _, value := range []string{"hello", "\x00", "\x7f123", "\x01", "\x01\x01\x01\x01", "\x01\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01", strings.Repeat("\x80", 40)} {
			client.Set(ctx, s.remote.Engine().Keys.Key(name, "k"), value, 0)
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorContains(t, err, "the value of the key is not one of a limiter", "%s: %q", name, value)
			assert.ErrorIs(t, err, weir.ErrRequest)
			assert.Equal(t, value, client.Get(ctx, s.remote.Engine().Keys.Key(name, "k")).Val())
		}
		client.Del(ctx, s.remote.Engine().Keys.Key(name, "k"))
		client.LPush(ctx, s.remote.Engine().Keys.Key(name, "k"), "x")
		_, err := l.Take(ctx, "k", 1)
		assert.ErrorContains(t, err, "WRONGTYPE", name)
		assert.ErrorIs(t, err, weir.ErrRequest, "no outage: %s", name)
		client.Set(ctx, s.remote.Engine().Keys.Key(name, "k"), "", 0)
		assert.True(t, take(t, l, "k", 1).Allowed, "an empty value is none: %s", name)
	}
}

// If the server does not have the client's database, that is no fault of the key.
func TestRefusedDatabaseIsAnOutage(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Single(t).Addr(), DB: 99})
	t.Cleanup(func() { _ = client.Close() })
	_, err := newLimiter(t, newStore(t, client), weir.TokenBucket{Limit: 1, Per: time.Hour}, "n").Take(t.Context(), "k", 1)
	assert.ErrorContains(t, err, "DB index is out of range")
	assert.NotErrorIs(t, err, weir.ErrRequest)
}

// A value that was cut off is not a value of a limiter. Some values of scripts are still valid when
// cut off: the store then decides on what is left.
func TestBrokenValues(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	ctx := context.Background()
	s := newStore(t, client)
	hour := weir.TokenBucket{Limit: 5, Per: time.Hour}
	for name, p := range map[string]weir.Policy{
		"tokens":  hour,
		"queue":   weir.LeakyBucket{Limit: 1, Per: time.Hour},
		"window":  weir.FixedWindow{Limit: 5, Per: time.Hour},
		"sliding": weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 6},
		"log":     weir.SlidingLog{Limit: 500, Per: time.Hour},
		"all":     weir.All(hour, weir.SlidingLog{Limit: 5, Per: time.Hour}, weir.SlidingLog{Limit: 6, Per: time.Hour}),
		"tiers":   weir.Tiers(hour, weir.CalendarWindow{Limit: 5, Unit: weir.Month}),
		"marker":  weir.TwoRateMarker{Committed: hour, Peak: weir.TokenBucket{Limit: 7, Per: time.Hour}},
		"two":     weir.TokenBucket{Limit: 299_993, Per: 24 * time.Hour},
		"foreign": inGo{weir.SlidingLog{Limit: 5, Per: time.Hour}},
	} {
		key := s.remote.Engine().Keys.Key(name, "k")
		l := newLimiter(t, s, p, name)
		changed := newLimiter(t, s, weir.All(hour, weir.FixedWindow{Limit: 9, Per: time.Hour}), name)
		take(t, l, "k", 1)
		whole := client.Get(ctx, key).Val()
		hasScript := slices.Contains([]string{"tokens", "queue", "window", "sliding", "log"}, name)
		var values []string
		for i := 1; i < len(whole); i++ {
			values = append(values, whole[:i])
		}
		if !hasScript {
			values = append(values, whole+"\x00", whole+"12345678")
		}
		for _, value := range values {
			client.Set(ctx, key, value, 0)
			for _, l := range []*weir.KeyedLimiter{l, changed} {
				_, err := l.Take(ctx, "k", 1)
				switch {
				case err != nil:
					require.ErrorContains(t, err, "the value of the key is not one of a limiter", "%s: %q", name, value)
					require.ErrorIs(t, err, weir.ErrRequest)
					require.Equal(t, value, client.Get(ctx, key).Val())
				default:
					require.True(t, hasScript, "%s: %q of %q", name, value, whole)
					client.Set(ctx, key, value, 0)
				}
			}
		}
	}
	// A value that says how short it is, as none was left.
	l := newLimiter(t, s, weir.CalendarWindow{Limit: 100, Unit: weir.Month}, "month")
	take(t, l, "k", 1)
	key := s.remote.Engine().Keys.Key("month", "k")
	whole := client.Get(ctx, key).Val()
	client.Set(ctx, key, whole[:len(whole)-9]+"\x00", 0)
	_, err := l.Take(ctx, "k", 1)
	assert.ErrorIs(t, err, weir.ErrRequest)
}

// R21: a count or a debt that no policy writes is an error of the request. Nothing is granted, the key is not
// denied for longer than a window, and there is no outage.
func TestR21_DamagedCounts(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	s := newDriven(t, client, serverSkew)
	s.set(time.Unix(1_700_000_000, 0))
	for i, test := range []struct {
		p     weir.Policy
		count string
	}{
		{weir.FixedWindow{Limit: 5, Per: time.Hour}, "\x04\x00\x00\x00\x00\x00"},
		{weir.FixedWindow{Limit: 5, Per: time.Hour}, "\x04\x00\x00\x00\x00\x05"},
		{weir.SlidingWindow{Limit: 40_000, Per: time.Hour}, "\x10\x00\x00"},
		{weir.SlidingWindow{Limit: 40_000, Per: time.Hour}, "\x30\x00\x05"},
		{weir.TokenBucket{Limit: 5, Per: time.Hour}, "\xff\xff\xff\xff\xff\xff\xff"},
	} {
		name := fmt.Sprint(i)
		l, changed := newLimiter(t, s, test.p, name), newLimiter(t, s, weir.LeakyBucket{Limit: 5, Per: time.Hour}, name)
		take(t, l, "k", 5)
		key := s.remote.Engine().Keys.Key(name, "k")
		value := client.Get(t.Context(), key).Val()
		value = value[:len(value)-len(test.count)] + test.count
		require.NoError(t, client.Set(t.Context(), key, value, 0).Err())
		for _, l := range []*weir.KeyedLimiter{l, changed} {
			for n := range 3 {
				_, err := l.Take(t.Context(), "k", n)
				assert.ErrorContains(t, err, "the value of the key is not one of a limiter", "%v, %d", test.p, n)
				assert.ErrorIs(t, err, weir.ErrRequest)
			}
		}
		assert.Equal(t, value, client.Get(t.Context(), key).Val(), "%v", test.p)
	}
}

// A value takes a few bytes for the policy, and those that the state needs.
func TestValuesAreSmall(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	s := newStore(t, client)
	for _, c := range []struct {
		p    weir.Policy
		most int64
	}{
		{weir.TokenBucket{Limit: 100, Per: time.Hour}, 9 + 14},
		{weir.LeakyBucket{Limit: 100, Per: time.Hour}, 9 + 14},
		{weir.FixedWindow{Limit: 100, Per: time.Hour}, 9 + 13},
		{weir.SlidingWindow{Limit: 100, Per: time.Hour}, 9 + 14 + 2},
		{weir.SlidingWindow{Limit: 100, Per: time.Hour, Buckets: 60}, 9 + 14 + 61},
		{weir.SlidingLog{Limit: 100, Per: time.Hour}, 9 + 23 + 8},
	} {
		name := fmt.Sprint(c.p)
		take(t, newLimiter(t, s, c.p, name), "k", 1)
		key := s.remote.Engine().Keys.Key(name, "k")
		assert.Equal(t, "string", client.Type(context.Background(), key).Val(), "%v", c.p)
		assert.LessOrEqual(t, client.StrLen(context.Background(), key).Val(), c.most, "%v", c.p)
	}
}

// A log of 10,000 takes no more than 90 kB, grows with what is used, and shrinks again.
func TestLogIsSmall(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newDriven(t, client, anySkew)
	s.set(time.Unix(1_700_000_000, 0))
	events := runs.Long(10_000, 2000) // each call reads and writes all that are there
	l := newLimiter(t, s, weir.SlidingLog{Limit: events, Per: 100 * time.Hour}, "")
	size := func() int64 {
		return client.MemoryUsage(context.Background(), s.remote.Engine().Keys.Key("", "k")).Val()
	}
	at := int64(1_700_000_000_000_000)
	for i := range events {
		s.set(time.UnixMicro(at + int64(i)))
		require.True(t, l.Allow("k"))
		if i == 9 {
			assert.Less(t, size(), int64(300))
		}
	}
	assert.Less(t, size(), int64(9*events))
	require.False(t, l.Allow("k"))
	s.set(time.UnixMicro(at + int64(events) - 10).Add(100 * time.Hour))
	require.Equal(t, events-10, take(t, l, "k", 1).Remaining)
	assert.Less(t, size(), int64(300))
}

// Forget makes a key as if never seen, whatever its policy.
func TestForget(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	var plan *weir.Plan
	l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return s.Do(ctx, r)
	}), weir.TokenBucket{Limit: 1, Per: time.Hour}, "")
	require.True(t, l.Allow("k"))
	require.False(t, l.Allow("k"))
	a, err := s.Do(context.Background(), weir.Request{Plan: plan, Key: "k", Forget: true})
	require.NoError(t, err)
	assert.Equal(t, weir.Answer{}, a)
	assert.True(t, l.Allow("k"))
	assert.Equal(t, []string{"weir:1:{:k}"}, client.Keys(context.Background(), "*").Val())
}
