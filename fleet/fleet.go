// Package fleet has stores for limits that several processes share. All of them except [Shares]
// stand in front of a shared store: a store that processes share, such as the store of module
// redisstore. Some bridge outages of the shared store, and others reduce its load:
//
//   - [Fallback] asks a second store when the shared one fails or is slow. With a [weir.MemStore]
//     as the second, each process then limits by itself. Use it in nearly every service. With the
//     shared store alone, Take and Wait return errors during an outage, and Allow returns false.
//
//   - [FailOpen] grants nearly all requests on which the shared store fails. Use it only for limits
//     that need not hold in an outage.
//
//   - [DenyCache] keeps denials of the shared store, and repeats them from memory. Use it if
//     clients keep calling with keys that are used up. Most such calls then cost the shared store
//     nothing.
//
//   - [Shares] divide the limits among the processes, without a shared store. As the second stores
//     of Fallbacks, the Shares of all processes together usually grant no more than the limit. With
//     MemStores instead, each process may grant the whole limit. Use Shares if your processes know
//     how many they are.
//
//   - [Lease] takes events of busy keys from the shared store ahead of need, and hands them out
//     from memory. With few exceptions, the limits still hold. Use it if round trips to the shared
//     store cost too much.
//
// A process that shares no limits with other processes usually needs only a [weir.MemStore].
//
// If you use several of these stores, put them in this order:
//
//	store := fleet.DenyCache(
//		fleet.Fallback(shared, new(weir.MemStore), fleet.FallbackOptions{Report: logOutage}),
//		fleet.DenyCacheOptions{MaxAge: time.Second})
//	leased := fleet.Lease(store, fleet.LeaseOptions{})
//
// The DenyCache has a MaxAge here, because a Lease takes events ahead of need, and often gives
// unused events of windows back. The DenyCache of another process does not notice, and goes on
// denying until MaxAge has passed.
//
// If you write a store that stands in front of another, use this package as an example. All that it
// needs of package weir is exported. The rules for such a store are at [weir.Store].
package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/text"
)

// degraded returns a, marked as decided without the shared store.
func degraded(a weir.Answer, r weir.Request) weir.Answer {
	eachResult(&a, r, func(result *weir.Result) { result.Degraded = true })
	return a
}

// eachResult calls do with the Result of the answer a to r, and with those of the components.
func eachResult(a *weir.Answer, r weir.Request, do func(*weir.Result)) {
	do(&a.Result)
	if r.ByComponent != nil {
		for i := range *r.ByComponent {
			do(&(*r.ByComponent)[i])
		}
	}
}

// misused is a store with invalid options.
type misused struct{ fault error }

// Accept implements [weir.Acceptor].
func (m misused) Accept(*weir.KeyedLimiter) error { return m.fault }

// Do implements [weir.Store].
func (m misused) Do(context.Context, weir.Request) (weir.Answer, error) {
	return weir.Answer{}, m.fault
}

// checkStore returns an error if a store behind another is nil or invalid.
func checkStore(wrapper, which string, s weir.Store) error {
	if s == nil {
		return fmt.Errorf("weir: %s with a nil %s, must be a Store", wrapper, which)
	}
	return errors.Join(text.Within(fmt.Sprintf("the %s of %s", which, wrapper), weir.Accept(s, nil))...)
}

func checkOption[T ~int | ~int64](name string, value T) error {
	if value < 0 {
		return fmt.Errorf("weir: %s is %v, must be at least 0", name, value)
	}
	return nil
}

// mostKeys bounds the memory that a new store allocates for its keys.
const mostKeys = 10_000_000

func checkMaxKeys(options string, maxKeys int) error {
	if maxKeys < 0 || maxKeys > mostKeys {
		return fmt.Errorf("weir: %s.MaxKeys is %d, must be from 0 to %d", options, maxKeys, mostKeys)
	}
	return nil
}

// realTime is an instant in nanoseconds, for what happens in real time whatever clock a limiter
// has, such as outages. Changes of the wall clock do not affect it. In a testing/synctest bubble it
// is the bubble's time, which is decades before base. It is above zero all the same.
func realTime() int64 { return 1<<62 + int64(time.Since(base)) }

var base = time.Now()

// later is the instant that is d after now, or the latest that there is.
func later(now int64, d time.Duration) int64 {
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}
