package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reloadEvery is the shortest time between two requests for a cluster's topology because of errors.
// By itself, go-redis asks for it only when a node points to another one, or every ten seconds,
// since 9.22 once a minute. Until then it would send commands to a dead master.
const reloadEvery = 200 * time.Millisecond

// ofCluster are the error replies of Redis that are about the cluster, and not about the command.
var ofCluster = []string{"CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING", "MOVED", "ASK", "TRYAGAIN"}

// notice reloads the topology after an error that another master may resolve.
func (s *sender) notice(err error) {
	var reply redis.Error
	begins := func(word string) bool { return strings.HasPrefix(reply.Error(), word) }
	if !errors.Is(err, context.Canceled) && (!errors.As(err, &reply) || slices.ContainsFunc(ofCluster, begins)) {
		s.reloadTopology()
	}
}

func (s *sender) reloadTopology() {
	if s.reload == nil {
		return
	}
	now, last := time.Now().UnixNano(), s.reloaded.Load()
	if now-last >= int64(reloadEvery) && s.reloaded.CompareAndSwap(last, now) {
		s.reload(context.Background()) // runs in a goroutine of the client
	}
}
