package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore"
)

// The tests of this file hold what docs/coming-from.md says of redis_rate and of weir. Its code
// stands here, word for word: TestDocsCode of the root module checks that.

func allowByRedisRate(client *redis.Client) func(ctx context.Context, key string) (bool, error) {
	l := redis_rate.NewLimiter(client)
	return func(ctx context.Context, key string) (bool, error) {
		r, err := l.Allow(ctx, "login:"+key, redis_rate.PerHour(10))
		if err != nil {
			return false, err
		}
		return r.Allowed > 0, nil
	}
}

func allowByRedisStore(client *redis.Client) (func(ctx context.Context, key string) (bool, error), error) {
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		return nil, err
	}
	l, err := weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour},
		weir.WithStore(store), weir.WithName("login"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (bool, error) {
		r, err := l.Take(ctx, key, 1)
		return r.Allowed, err
	}, nil
}

// testClient is a client of a server of its own.
func testClient(t *testing.T) *redis.Client {
	needServer(t)
	s, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	return s.admin
}

func TestComingFromRedisRate(t *testing.T) {
	client := testClient(t)
	ours, err := allowByRedisStore(client)
	if err != nil {
		t.Fatal(err)
	}
	for who, allow := range map[string]func(context.Context, string) (bool, error){
		"redis_rate": allowByRedisRate(client), "weir": ours,
	} {
		granted := 0
		for range 15 {
			ok, err := allow(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				granted++
			}
		}
		if granted != 10 {
			t.Errorf("%s grants %d of 15, not 10", who, granted)
		}
	}
}

func TestComingFromRedisRateSeveral(t *testing.T) {
	client := testClient(t)
	ctx, limit := t.Context(), redis_rate.PerHour(10)
	theirs := redis_rate.NewLimiter(client)
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ours := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(store), weir.WithName("ours")))

	r, err := theirs.AllowN(ctx, "granted", limit, 1)
	if err != nil || r.RetryAfter != -1 {
		t.Errorf("redis_rate's RetryAfter of a grant is %v, %v", r.RetryAfter, err)
	}
	r, err = theirs.AllowN(ctx, "twenty", limit, 20)
	if err != nil || r.Allowed != 0 || r.RetryAfter < 59*time.Minute || r.RetryAfter > time.Hour {
		t.Errorf("redis_rate answers 20 of 10 with %+v, %v", r, err)
	}
	if r, err := ours.Take(ctx, "twenty", 20); err != nil || r.Allowed || r.RetryAfter != weir.Never {
		t.Errorf("weir answers 20 of 10 with %+v, %v", r, err)
	}

	theirs.AllowN(ctx, "shared", limit, 10)
	r, err = theirs.Allow(ctx, "shared", redis_rate.PerMinute(10))
	if err != nil || r.Allowed != 0 {
		t.Errorf("redis_rate has another count for another limit: %+v, %v", r, err)
	}

	theirs.AllowN(ctx, "negative", limit, 10)
	theirs.AllowN(ctx, "negative", limit, -5)
	r, err = theirs.AllowN(ctx, "negative", limit, 5)
	if err != nil || r.Allowed != 5 {
		t.Errorf("redis_rate grants %d, %v", r.Allowed, err)
	}
	if _, err := ours.Take(ctx, "negative", -5); err == nil {
		t.Error("weir takes -5")
	}
}

// A replyLoser is a connection that breaks after the next decision was sent, before its reply is
// read.
type replyLoser struct {
	net.Conn
	lose *atomic.Bool // the next one
	lost bool
}

func (c *replyLoser) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("evalsha")) && c.lose.CompareAndSwap(true, false) {
		c.lost = true
	}
	return c.Conn.Write(b)
}

func (c *replyLoser) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // so that the server has executed it
	if c.lost && err == nil {
		c.Conn.Close()
		return 0, errors.New("connection reset")
	}
	return n, err
}

// A decision whose reply is lost counts twice where the client sends it again.
func TestComingFromRedisRateLostReply(t *testing.T) {
	addr := testClient(t).Options().Addr
	var lose atomic.Bool
	client := redis.NewClient(&redis.Options{
		Addr: addr,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &replyLoser{Conn: conn, lose: &lose}, err
		},
	})
	defer client.Close()
	ctx := t.Context()
	theirs := redis_rate.NewLimiter(client)
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ours := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(store), weir.WithName("ours")))
	theirs.Allow(ctx, "before", redis_rate.PerHour(10)) // so that the scripts are there
	ours.Take(ctx, "before", 1)

	lose.Store(true)
	r, err := theirs.Allow(ctx, "lost", redis_rate.PerHour(10))
	if err != nil || r.Remaining != 8 || lose.Load() {
		t.Errorf("redis_rate has %+v left, %v", r, err)
	}
	lose.Store(true)
	if _, err := ours.Take(ctx, "lost", 1); err == nil || lose.Load() {
		t.Error("weir's caller is not told")
	}
	if r, err := ours.Take(ctx, "lost", 0); err != nil || r.Remaining != 9 {
		t.Errorf("weir has %+v left, %v", r, err)
	}
}
