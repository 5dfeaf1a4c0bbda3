package redisstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reloadEvery is how often at most the topology of a cluster is asked for because of errors. go-redis
// does so by itself only when a node points to another one, or once a minute, and so would go on sending
// to a master that is dead.
const reloadEvery = 200 * time.Millisecond

// notice has the topology asked for after an error that another master may mend.
func (s *sender) notice(err error) {
	var reply redis.Error
	switch {
	case errors.Is(err, context.Canceled):
		return
	case errors.As(err, &reply) && !isClusterState(reply.Error()):
		return
	}
	s.reloadTopology()
}

// isClusterState tells whether an error that Redis replied with is about the cluster, and not about the
// command.
func isClusterState(reply string) bool {
	for _, prefix := range []string{"CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING", "MOVED", "ASK", "TRYAGAIN"} {
		if strings.HasPrefix(reply, prefix) {
			return true
		}
	}
	return false
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
