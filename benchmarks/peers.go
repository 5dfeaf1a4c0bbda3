package benchmarks

import (
	"github.com/RussellLuo/slidingwindow"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	juju "github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"
	xrate "golang.org/x/time/rate"
)

// peers are the limiters that weir is held against. Those without keys stand in a map of them.
var peers = []Contender{
	{Name: "x/time/rate, map + mutex", Module: "golang.org/x/time", How: "*rate.Limiter in a map", New: mutexMap(newXTime)},
	{Name: "x/time/rate, sync.Map", Module: "golang.org/x/time", How: "*rate.Limiter in a sync.Map", New: syncMap(newXTime)},
	{Name: "x/time/rate, xsync", Module: "golang.org/x/time", How: "*rate.Limiter in an xsync.Map", New: xsyncMap(newXTime)},
	{Name: "uber, map + mutex", Module: "go.uber.org/ratelimit", How: "in a map. It sleeps instead of denying", Kind: Blocks, New: mutexMap(newUber)},
	{Name: "uber, sync.Map", Module: "go.uber.org/ratelimit", How: "in a sync.Map. It sleeps instead of denying", Kind: Blocks, New: syncMap(newUber)},
	{Name: "juju, map + mutex", Module: "github.com/juju/ratelimit", How: "*Bucket in a map", New: mutexMap(newJuju)},
	{Name: "juju, xsync", Module: "github.com/juju/ratelimit", How: "*Bucket in an xsync.Map", New: xsyncMap(newJuju)},
	{Name: "throttled", Module: "github.com/throttled/throttled/v2", How: "its GCRA and its memstore, without a bound on keys or on attempts to exchange", New: newThrottled},
	{Name: "ulule", Module: "github.com/ulule/limiter/v3", How: "its memory store, with its defaults", New: newUlule},
	{Name: "sethvargo", Module: "github.com/sethvargo/go-limiter", How: "its memorystore, with its defaults", New: newSethvargo},
	{Name: "httprate", Module: "github.com/go-chi/httprate", How: "its local counter, under a lock as in its middleware. It keeps 64-bit hashes of the keys", Hashes: true, New: newHTTPRate},
	{Name: "tollbooth", Module: "github.com/didip/tollbooth/v8", How: "LimitReached", New: newTollbooth},
	{Name: "mennanov, xsync", Module: "github.com/mennanov/limiters", How: "*TokenBucket in memory, in an xsync.Map", New: xsyncMap(newMennanov)},
	{Name: "failsafe-go, xsync", Module: "github.com/failsafe-go/failsafe-go", How: "bursty RateLimiter in an xsync.Map", New: xsyncMap(newFailsafe)},
	{Name: "RussellLuo, xsync", Module: "github.com/RussellLuo/slidingwindow", How: "*Limiter in an xsync.Map", New: xsyncMap(newRussellLuo)},
}

func newXTime(q Quota) *xrate.Limiter { return xrate.NewLimiter(xrate.Limit(q.perSecond()), q.Limit) }

type uberOne struct{ uber.Limiter }

func newUber(q Quota) uberOne { return uberOne{uber.New(q.Limit, uber.Per(q.Per))} }

func (u uberOne) Allow() bool {
	u.Take()
	return true
}

type jujuOne struct{ *juju.Bucket }

func newJuju(q Quota) jujuOne { return jujuOne{juju.NewBucket(q.interval(), int64(q.Limit))} }

func (j jujuOne) Allow() bool { return j.TakeAvailable(1) == 1 }

type failsafeOne struct{ ratelimiter.RateLimiter[any] }

func newFailsafe(q Quota) failsafeOne {
	return failsafeOne{ratelimiter.NewBursty[any](uint(q.Limit), q.Per)}
}

func (f failsafeOne) Allow() bool { return f.TryAcquirePermit() }

func newRussellLuo(q Quota) *slidingwindow.Limiter {
	l, _ := slidingwindow.NewLimiter(q.Per, int64(q.Limit), func() (slidingwindow.Window, slidingwindow.StopFunc) {
		return slidingwindow.NewLocalWindow()
	})
	return l
}
