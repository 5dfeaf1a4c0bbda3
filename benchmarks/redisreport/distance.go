package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/redisstore"
)

// The callers of a Redis that is far away are more than any client has connections.
const (
	farCallers     = 600
	farConnections = 160
	farKeys        = 10_000
)

// bucketScript is a script that people without a library write: a token bucket by its theoretical
// arrival time.
const bucketScript = `local t = redis.call('TIME')
local now, each, span = t[1] * 1000000 + t[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now)) + each
if tat > now + span then return now + span - tat end
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
return 1`

func scriptArgs(q quota) []string {
	return []string{fmt.Sprint(float64(q.per.Microseconds()) / float64(q.limit)), fmt.Sprint(q.per.Microseconds())}
}

// farContenders returns the contenders that are measured at a distance. The others are compared
// with the first. degraded counts the answers that are Degraded.
func farContenders(degraded *atomic.Int64) []contender {
	return []contender{
		{name: "plain script, rueidis", open: openScriptRueidis},
		{name: "plain script, go-redis", open: openScriptGoRedis},
		{name: weirRueidis, open: openRueidis(nil, false)},
		{name: weirGoRedis, open: openFar(nil)},
		{name: weirGoRedis + ", Fallback", open: openFar(func(s weir.Store) weir.Store {
			return countDegraded{fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{}), degraded}
		})},
	}
}

func openScriptRueidis(db database) (io.Closer, func(quota) (limiter, error), error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{db.addr}, SelectDB: db.number})
	if err != nil {
		return nil, nil, err
	}
	script := rueidis.NewLuaScript(bucketScript)
	return rueidisCloser{client}, func(q quota) (limiter, error) {
		args := scriptArgs(q)
		return func(ctx context.Context, key string) (bool, error) {
			n, err := script.Exec(ctx, client, []string{key}, args).AsInt64()
			return n > 0, err
		}, nil
	}, nil
}

func newFarGoRedis(db database) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: db.addr, DB: db.number, PoolSize: farConnections})
}

func openScriptGoRedis(db database) (io.Closer, func(quota) (limiter, error), error) {
	client, script := newFarGoRedis(db), redis.NewScript(bucketScript)
	return client, func(q quota) (limiter, error) {
		args := scriptArgs(q)
		return func(ctx context.Context, key string) (bool, error) {
			n, err := script.Run(ctx, client, []string{key}, args[0], args[1]).Int64()
			return n > 0, err
		}, nil
	}, nil
}

// openFar is for a store with its own defaults, in front of which another may stand.
func openFar(front func(weir.Store) weir.Store) func(database) (io.Closer, func(quota) (limiter, error), error) {
	return func(db database) (io.Closer, func(quota) (limiter, error), error) {
		client := newFarGoRedis(db)
		shared, err := redisstore.New(client, redisstore.Options{})
		if err != nil {
			return nil, nil, err
		}
		store := weir.Store(shared)
		if front != nil {
			l, err := onWeir(tokenBucket(roomy), shared) // makes the connections
			if err != nil {
				return nil, nil, err
			}
			race(l, keys(farKeys), farCallers, time.Second)
			store = front(store)
		}
		return client, func(q quota) (limiter, error) { return onWeir(tokenBucket(q), store) }, nil
	}
}

// countDegraded counts what was decided without the shared store.
type countDegraded struct {
	weir.Store
	n *atomic.Int64
}

func (c countDegraded) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := c.Store.Do(ctx, r)
	if a.Degraded {
		c.n.Add(1)
	}
	return a, err
}

// runDistance prints how many decisions a second there are of a Redis whose replies take longer by
// s.distance.
func (s settings) runDistance(out io.Writer) (err error) {
	server, err := startServer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	way, err := newLink(server.addr, s.distance)
	if err != nil {
		return err
	}
	defer way.Close()
	var degraded atomic.Int64
	contenders, names := farContenders(&degraded), keys(farKeys)
	limiters, rates, all, failed, without := make([]limiter, len(contenders)), make([][]float64, len(contenders)),
		make([]int, len(contenders)), make([]int, len(contenders)), make([]int64, len(contenders))
	for i, c := range contenders {
		client, limit, err := c.open(database{way.Addr().String(), 0})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer client.Close()
		if limiters[i], err = limit(roomy); err != nil {
			return err
		}
		race(limiters[i], names, farCallers, s.time/2) // the connections are made
	}
	for range s.rounds {
		for i, l := range limiters {
			degraded.Store(0)
			took, t := race(l, names, farCallers, s.time)
			rates[i] = append(rates[i], float64(len(t.took))/took.Seconds())
			all[i], failed[i], without[i] = all[i]+len(t.took), failed[i]+t.failed, without[i]+degraded.Load()
		}
	}
	fmt.Fprintf(out, "%d goroutines, %d keys, replies later by %v, %d connections of go-redis; medians of %d rounds\n\n",
		farCallers, farKeys, s.distance, farConnections, s.rounds)
	fmt.Fprintf(out, "%-26s %12s %8s %8s %10s\n", "", "decisions/s", "ratio", "failed", "degraded")
	first := median(rates[0])
	for i, c := range contenders {
		rate := median(rates[i])
		fmt.Fprintf(out, "%-26s %12.0f %8.2f %8d %9.3f%%\n", c.name, rate, rate/first, failed[i], 100*float64(without[i])/float64(all[i]))
	}
	return nil
}
