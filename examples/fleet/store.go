package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/redisstore"
)

// An address is where the shared store is. One of the fields is set.
type address struct{ Redis, NATS string }

// bucket is where the store has its values.
const bucket = "weir-example-fleet"

// open connects to the store, as each process of a service does.
func (a address) open() (store weir.Store, closeIt func(), err error) {
	if a.Redis != "" {
		logging.Disable() // the client's own messages, one for each attempt to connect
		client := redis.NewClient(&redis.Options{Addr: a.Redis})
		store, err = redisstore.New(client, redisstore.Options{Prefix: bucket})
		return store, func() { client.Close() }, err
	}
	conn, err := nats.Connect(a.NATS)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err == nil {
		store, err = natsstore.New(js, natsstore.Options{Bucket: bucket})
	}
	return store, conn.Close, err
}

// startStore starts a NATS server in this process, unless there is a Redis. stop ends it.
func (o options) startStore(ctx context.Context) (a address, stop func() error, err error) {
	if o.redis == "" {
		return startNATS(ctx)
	}
	logging.Disable()
	client := redis.NewClient(&redis.Options{Addr: o.redis})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return a, nil, fmt.Errorf("-redis %s: %w", o.redis, err)
	}
	return address{Redis: o.redis}, func() error { return nil }, nil
}

// startNATS starts a NATS server on a free port of this machine. It keeps its values in memory.
func startNATS(ctx context.Context) (a address, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "weir-fleet")
	if err != nil {
		return a, nil, err
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return a, nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() error {
		s.Shutdown()
		s.WaitForShutdown()
		return os.RemoveAll(dir)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return a, nil, errors.Join(errors.New("the NATS server does not start"), stop())
	}
	if err := makeBucket(ctx, s.ClientURL()); err != nil {
		return a, nil, errors.Join(err, stop())
	}
	return address{NATS: s.ClientURL()}, stop, nil
}

// makeBucket makes the bucket as natsstore needs it: one value a key, which can expire.
func makeBucket(ctx context.Context, url string) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1, AllowMsgTTL: true,
			Discard: jetstream.DiscardNew, Storage: jetstream.MemoryStorage,
			// CreateKeyValue also sets these. Tools for buckets need them.
			AllowRollup: true, AllowDirect: true, DenyDelete: true,
		})
	}
	return err
}
