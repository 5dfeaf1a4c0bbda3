package main

import (
	"context"
	"io"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/go-redis/redis_rate/v10"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	sethvargo "github.com/sethvargo/go-redisstore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/rueidisstore"
)

// A limiter asks for one event of the key.
type limiter func(ctx context.Context, key string) (allowed bool, err error)

// A quota is how many events a limiter allows each key, at once and per time.
type quota struct {
	limit int
	per   time.Duration
}

// A contender is a limiter that keeps its counts in Redis.
type contender struct {
	name   string
	module string
	how    string // it is used, and what sets it apart
	only   bool   // takes part in nothing but what is denied

	// open connects to a database. The limiters for different quotas are to be asked for different
	// keys.
	open func(database) (io.Closer, func(quota) (limiter, error), error)
}

// A database is one of those in a server, which have their keys apart. Each contender has its own,
// so that its keys are looked up among as many as there are said to be.
type database struct {
	addr   string
	number int
}

// The leader is the contender that the others are compared with.
const leader = "redis_rate"

const (
	floor       = "(INCR alone)"
	weirGoRedis = "weir, go-redis"
	weirRueidis = "weir, rueidis"
	weirSingle  = "weir, rueidis, single server"
)

func contenders() []contender {
	denyCache := func(s weir.Store) weir.Store { return fleet.DenyCache(s, fleet.DenyCacheOptions{}) }
	return []contender{
		{name: floor, module: "github.com/redis/go-redis/v9", how: "no limiter: one command, by go-redis", open: openNothing},
		{name: leader, module: "github.com/go-redis/redis_rate/v10", how: "GCRA as a script", open: openRedisRate},
		{name: "ulule", module: "github.com/ulule/limiter/v3", how: "fixed window as a script", open: openUlule},
		{name: "throttled", module: "github.com/throttled/throttled/v2", how: "GCRA by reading and exchanging, without a bound on attempts", open: openThrottled},
		{name: "httprate-redis", module: "github.com/go-chi/httprate-redis", how: "sliding window by reading and adding, under a lock as in its middleware. Its counter in memory is off", open: openHTTPRate},
		{name: "go-redisstore", module: "github.com/sethvargo/go-redisstore", how: "token bucket as a script, by redigo, with as many connections as the others", open: openSethvargo},
		{name: weirGoRedis, module: "github.com/weir-go/weir/redisstore", how: "TokenBucket, by go-redis", open: openGoRedis},
		{name: weirRueidis, module: "github.com/weir-go/weir/redisstore/rueidisstore", how: "TokenBucket, by rueidis", open: openRueidis(nil, false)},
		{name: weirSingle, module: "github.com/weir-go/weir/redisstore/rueidisstore", how: "the same, with SingleServer", open: openRueidis(nil, true)},
		{name: weirRueidis + ", DenyCache", module: "github.com/weir-go/weir", how: "the same behind a fleet.DenyCache", only: true, open: openRueidis(denyCache, false)},
	}
}

// connections is how many a contender may have. It is the default of go-redis.
func connections() int { return 10 * runtime.GOMAXPROCS(0) }

// newGoRedis is the client of all that use go-redis.
func newGoRedis(db database) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: db.addr, DB: db.number, PoolSize: connections()})
}

// timeout of weir's stores is long, so that no error comes of a machine that stands still for a
// moment.
const timeout = 10 * time.Second

func tokenBucket(q quota) weir.Policy { return weir.TokenBucket{Limit: q.limit, Per: q.per} }

func onWeir(p weir.Policy, s weir.Store) (limiter, error) {
	l, err := weir.New(p, weir.WithStore(s), weir.WithName(""))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (bool, error) {
		r, err := l.Take(ctx, key, 1)
		return r.Allowed, err
	}, nil
}

func openGoRedis(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	s, err := redisstore.New(client, redisstore.Options{Timeout: timeout})
	return client, func(q quota) (limiter, error) { return onWeir(tokenBucket(q), s) }, err
}

type rueidisCloser struct{ rueidis.Client }

func (c rueidisCloser) Close() error {
	c.Client.Close()
	return nil
}

func newRueidis(db database, singleServer bool) (io.Closer, weir.Store, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{db.addr}, SelectDB: db.number})
	if err != nil {
		return nil, nil, err
	}
	s, err := rueidisstore.New(client, rueidisstore.Options{Timeout: timeout, SingleServer: singleServer})
	return rueidisCloser{client}, s, err
}

// openRueidis is for a store in front of which another may stand.
func openRueidis(front func(weir.Store) weir.Store, singleServer bool) func(database) (io.Closer, func(quota) (limiter, error), error) {
	return func(db database) (io.Closer, func(quota) (limiter, error), error) {
		client, s, err := newRueidis(db, singleServer)
		if front != nil && err == nil {
			s = front(s)
		}
		return client, func(q quota) (limiter, error) { return onWeir(tokenBucket(q), s) }, err
	}
}

func openNothing(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	return client, func(quota) (limiter, error) {
		return func(ctx context.Context, key string) (bool, error) {
			return true, client.Incr(ctx, "incr:"+key).Err() // the others have a prefix, too
		}, nil
	}, nil
}

func openRedisRate(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	l := redis_rate.NewLimiter(client)
	return client, func(q quota) (limiter, error) {
		limit := redis_rate.Limit{Rate: q.limit, Burst: q.limit, Period: q.per}
		return func(ctx context.Context, key string) (bool, error) {
			r, err := l.Allow(ctx, key, limit)
			return err == nil && r.Allowed > 0, err
		}, nil
	}, nil
}

func openUlule(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	store, err := ululestore.NewStore(client)
	return client, func(q quota) (limiter, error) {
		l := ulule.New(store, ulule.Rate{Period: q.per, Limit: int64(q.limit)})
		return func(ctx context.Context, key string) (bool, error) {
			c, err := l.Get(ctx, key)
			return err == nil && !c.Reached, err
		}, nil
	}, err
}

func openThrottled(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	store, err := throttledstore.NewCtx(client, "throttled:")
	return client, func(q quota) (limiter, error) {
		rate := throttled.RateQuota{MaxRate: throttled.PerDuration(q.limit, q.per), MaxBurst: q.limit - 1}
		l, err := throttled.NewGCRARateLimiterCtx(store, rate)
		if err != nil {
			return nil, err
		}
		l.SetMaxCASAttemptsLimit(math.MaxInt) // after 10 it would give up with an error
		return func(ctx context.Context, key string) (bool, error) {
			limited, _, err := l.RateLimitCtx(ctx, key, 1)
			return err == nil && !limited, err
		}, nil
	}, err
}

func openHTTPRate(db database) (io.Closer, func(quota) (limiter, error), error) {
	client := newGoRedis(db)
	return client, func(q quota) (limiter, error) {
		counter, err := httprateredis.NewRedisLimitCounter(&httprateredis.Config{
			Client: client, FallbackDisabled: true, WindowLength: q.per,
		})
		if err != nil {
			return nil, err
		}
		l := httprate.NewRateLimiter(q.limit, q.per, httprate.WithLimitCounter(counter))
		var mu sync.Mutex // as the middleware's: there is no other way to ask it, and the headers take longer
		return func(_ context.Context, key string) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			_, rate, err := l.Status(key)
			if err != nil || int(math.Round(rate))+1 > q.limit {
				return false, err
			}
			err = l.Counter().IncrementBy(key, time.Now().UTC().Truncate(q.per), 1)
			return err == nil, err
		}, nil
	}, nil
}

func openSethvargo(db database) (io.Closer, func(quota) (limiter, error), error) {
	pool := &redigo.Pool{
		Dial:    func() (redigo.Conn, error) { return redigo.Dial("tcp", db.addr, redigo.DialDatabase(db.number)) },
		MaxIdle: connections(), MaxActive: connections(), Wait: true,
	}
	return pool, func(q quota) (limiter, error) {
		s, err := sethvargo.NewWithPool(&sethvargo.Config{Tokens: uint64(q.limit), Interval: q.per}, pool)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := s.Take(ctx, key)
			return ok, err
		}, nil
	}, nil
}
