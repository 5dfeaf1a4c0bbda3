package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reloadEvery is how often at most the topology of a cluster is asked for because of errors. go-redis
// does so by itself only when a node points to another one, or once a minute, and so would go on sending
// to a master that is dead.
const reloadEvery = 200 * time.Millisecond

// ofCluster are the errors with which Redis replies that are about the cluster, and not about the command.
var ofCluster = []string{"CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING", "MOVED", "ASK", "TRYAGAIN"}

// notice has the topology asked for after an error that another master may mend.
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
		s.reload(context.Background()) // in a goroutine of the client's
	}
}
