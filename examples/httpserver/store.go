package main

import (
	"log/slog"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/redisstore"
)

// newStore returns the store of all limits. Given the address of a Redis it is there, so that all servers
// that use it share the limits. While Redis does not answer, each server limits by itself, and log
// tells so. own is what is in this server's memory. The store's connections are for as long as the
// program runs.
func newStore(redisAddr string, own *weir.MemStore, log *slog.Logger) (weir.Store, error) {
	if redisAddr == "" {
		return own, nil
	}
	logging.Disable() // the client's own messages, one for each attempt to connect
	shared, err := redisstore.New(redis.NewClient(&redis.Options{Addr: redisAddr}), redisstore.Options{Prefix: "httpserver"})
	if err != nil {
		return nil, err
	}
	return fleet.Fallback(shared, own, fleet.FallbackOptions{Report: func(err error) {
		if err != nil {
			log.Error("redis fails, limits are this server's own", "err", err)
			return
		}
		log.Info("redis answers again, limits are shared")
	}}), nil
}
