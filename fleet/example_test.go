package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// A redis stands for a store that processes share, and that is away at times.
type redis struct {
	weir.MemStore
	away  bool
	asked int
}

func (s *redis) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if s.asked++; s.away {
		return weir.Answer{}, errors.New("connection refused")
	}
	return s.MemStore.Do(ctx, r)
}

// A busy key is decided from memory. The events that the process holds are already counted in the
// shared store.
func ExampleLease() {
	shared := new(redis)
	store := fleet.Lease(shared, fleet.LeaseOptions{})
	limiter := weir.Must(weir.New(weir.FixedWindow{Limit: 10_000, Per: time.Hour}, weir.WithStore(store)))

	granted := 0
	for range 5000 {
		if limiter.Allow("ada") {
			granted++
		}
	}
	fmt.Println(granted, "granted, seldom asked:", shared.asked < 250)

	// When the process ends, the store gets back what was not used.
	if err := store.Release(context.Background()); err != nil {
		panic(err)
	}
	result, _ := limiter.Take(context.Background(), "ada", 0)
	fmt.Println(result.Remaining, "left")

	// Output:
	// 5000 granted, seldom asked: true
	// 5000 left
}

// Lease, DenyCache, Fallback and Shares are used together, in the order in which they belong.
func ExampleLease_inFrontOfAll() {
	shared := new(redis)
	shares := fleet.NewShares(new(weir.MemStore)) // call its Set when processes join and leave
	store := fleet.Lease(
		fleet.DenyCache(
			fleet.Fallback(shared, shares, fleet.FallbackOptions{}),
			fleet.DenyCacheOptions{MaxAge: time.Second}),
		fleet.LeaseOptions{})
	limiter := weir.Must(weir.New(weir.FixedWindow{Limit: 10_000, Per: time.Hour}, weir.WithStore(store)))

	granted := 0
	for range 1_000_000 {
		if limiter.Allow("ada") {
			granted++
		}
	}
	fmt.Println(granted, "granted, seldom asked:", shared.asked < 1000)

	// Output: 10000 granted, seldom asked: true
}

// While the store fails, everything is granted.
func ExampleFailOpen() {
	store := new(redis)
	limiter := weir.Must(weir.New(
		weir.TokenBucket{Limit: 2, Per: time.Hour},
		weir.WithStore(fleet.FailOpen(store, fleet.FailOpenOptions{Report: func(err error) { fmt.Println("not limited:", err) }}))))

	store.away = true
	for range 3 {
		fmt.Println(limiter.Allow("ada"))
	}

	// Output:
	// not limited: connection refused
	// true
	// not limited: connection refused
	// true
	// not limited: connection refused
	// true
}

// While the shared store is away, each process limits by itself.
func ExampleFallback() {
	store := new(redis)
	limiter := weir.Must(weir.New(
		weir.TokenBucket{Limit: 2, Per: time.Hour},
		weir.WithStore(fleet.Fallback(store, new(weir.MemStore), fleet.FallbackOptions{
			Budget: 50 * time.Millisecond,
			Report: func(err error) { fmt.Println("limits are of this process alone:", err) },
		}))))

	store.away = true
	for range 3 {
		result, err := limiter.Take(context.Background(), "ada", 1)
		fmt.Println(result.Allowed, result.Degraded, err)
	}
	fmt.Println("asked", store.asked, "time")

	// Output:
	// limits are of this process alone: connection refused
	// true true <nil>
	// true true <nil>
	// false true <nil>
	// asked 1 time
}

// With Shares as the second store, three processes divide a limit while the shared store is away.
func ExampleShares() {
	shares := fleet.NewShares(new(weir.MemStore))
	store := fleet.Fallback(&redis{away: true}, shares, fleet.FallbackOptions{})
	limiter := weir.Must(weir.New(
		weir.FixedWindow{Limit: 300, Per: time.Millisecond}, weir.WithStore(store)))

	// Call it again when processes join and leave.
	if err := shares.Set(fleet.Membership{Members: 3, Index: 0}); err != nil {
		panic(err)
	}

	// A process that has just started has no share for a span of the policy, here a millisecond.
	err := limiter.Wait(context.Background(), "ada", 1)
	result, _ := limiter.Take(context.Background(), "ada", 0)
	fmt.Println(err, result.Limit)

	// Output: <nil> 100
}

// A client that hammers a used-up key costs the shared store nothing.
func ExampleDenyCache() {
	store := new(redis)
	limiter := weir.Must(weir.New(
		weir.TokenBucket{Limit: 2, Per: time.Hour},
		weir.WithStore(fleet.DenyCache(store, fleet.DenyCacheOptions{}))))

	granted := 0
	for range 1_000_000 {
		if limiter.Allow("mallory") {
			granted++
		}
	}
	fmt.Println(granted, "granted, the store was asked", store.asked, "times")

	// Output: 2 granted, the store was asked 3 times
}

// The cache reduces the load of the store, and keeps its denials while the store is away.
func ExampleDenyCache_inFrontOfFallback() {
	store := new(redis)
	limiter := weir.Must(weir.New(
		weir.TokenBucket{Limit: 2, Per: time.Hour},
		weir.WithStore(fleet.DenyCache(
			fleet.Fallback(store, new(weir.MemStore), fleet.FallbackOptions{}),
			fleet.DenyCacheOptions{MaxAge: time.Second}))))

	fmt.Println(limiter.Allow("ada"), limiter.Allow("ada"), limiter.Allow("ada"))
	store.away = true
	fmt.Println(limiter.Allow("ada"), limiter.Allow("bob"))

	// Output:
	// true true false
	// false true
}
