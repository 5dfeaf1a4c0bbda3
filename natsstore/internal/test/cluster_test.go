package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/testport"
)

// A cluster is three servers, by their names.
type cluster struct {
	options map[string]server.Options
	servers map[string]*server.Server
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	claim := func() int {
		port, err := testport.Claim()
		require.NoError(t, err)
		t.Cleanup(func() { _ = port.Close() }) // it is a socket that nobody reads
		return port.Number
	}
	c := &cluster{map[string]server.Options{}, map[string]*server.Server{}}
	var routes []string
	for i := range 3 {
		name, port := fmt.Sprint("server", i), claim()
		routes = append(routes, fmt.Sprint("nats://127.0.0.1:", port))
		c.options[name] = server.Options{
			ServerName: name, Port: claim(), StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: port},
		}
	}
	t.Cleanup(func() {
		for name := range c.servers {
			c.stop(name)
		}
	})
	for name, o := range c.options {
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		c.options[name] = o
		c.start(t, name)
	}
	return c
}

func (c *cluster) start(t *testing.T, name string) {
	t.Helper()
	o := c.options[name]
	c.servers[name] = start(t, &o)
}

func (c *cluster) stop(name string) {
	c.servers[name].Shutdown()
	c.servers[name].WaitForShutdown()
}

// newBucket makes a bucket with three replicas, and returns its stream, when it has a leader.
func (c *cluster) newBucket(t *testing.T, js jetstream.JetStream) jetstream.Stream {
	t.Helper()
	var err error
	eventually(t, "the cluster to have a leader", func() bool {
		_, err = js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{
			Bucket: "weir", LimitMarkerTTL: time.Second, Replicas: 3, Storage: jetstream.FileStorage,
		})
		return err == nil
	})
	stream, err := js.Stream(t.Context(), "KV_weir")
	require.NoError(t, err)
	return stream
}

// leader returns the name of the leader of a stream, if it has one and all others are up to date.
func leader(t *testing.T, stream jetstream.Stream) string {
	info, err := stream.Info(t.Context())
	if err != nil || info.Cluster == nil || len(info.Cluster.Replicas) != 2 {
		return ""
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline {
			return ""
		}
	}
	return info.Cluster.Leader
}

// What one process has counted or forgotten, all others see at once, whichever server they are
// connected to. A replica may lag behind, and is not asked.
func TestCluster_Reads(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var all []*weir.KeyedLimiter
	for _, s := range c.servers {
		js := connect(t, addr(s))
		c.newBucket(t, js)
		all = append(all, newLimiter(t, newStore(t, js, ""), spacious))
	}
	for i := range runs.Long(300, 100) {
		key := fmt.Sprint(i)
		for n := range 2 * len(all) {
			_, err := all[n%len(all)].Take(t.Context(), key, 1)
			require.NoError(t, err)
			for _, l := range all {
				r, err := l.Take(t.Context(), key, 0)
				require.NoError(t, err)
				require.Equal(t, n+1, r.Limit-r.Remaining)
			}
		}
		require.NoError(t, all[0].Reset(t.Context(), key))
		require.Zero(t, counted(t, all[1], key))
	}
}

// When the server of the leader stops, another takes over, and no count is lost.
func TestCluster_Failover(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, "nats://"+addr(s))
	}
	js := connect(t, strings.TrimPrefix(strings.Join(urls, ","), "nats://"))
	stream := c.newBucket(t, js)
	tr := drive(t, newStore(t, js, ""))
	for range runs.Long(3, 1) {
		var name string
		eventually(t, "a leader", func() bool {
			name = leader(t, stream)
			return name != ""
		})
		c.stop(name)
		tr.awaitFailed(t)
		tr.awaitServed(t)
		c.start(t, name)
		tr.awaitServed(t)
	}
	tr.check(t)
}
