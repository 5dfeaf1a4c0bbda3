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
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/internal/testport"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/natsstore/internal/bucket"
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

// newBucket makes a bucket with three replicas, and returns its stream.
func (c *cluster) newBucket(
	t *testing.T, js jetstream.JetStream, name string, change ...func(*jetstream.StreamConfig),
) jetstream.Stream {
	t.Helper()
	traffic.Eventually(t, "the cluster to have a leader", func() bool {
		cfg := config(name)
		cfg.Replicas, cfg.Storage = 3, jetstream.FileStorage
		for _, f := range change {
			f(&cfg)
		}
		_, err := js.CreateOrUpdateStream(t.Context(), cfg)
		return err == nil
	})
	stream, err := js.Stream(t.Context(), "KV_"+name)
	require.NoError(t, err)
	return stream
}

// newStores makes a bucket, and returns a store on each server.
func (c *cluster) newStores(t *testing.T, bucket string) (all []*natsstore.Store) {
	t.Helper()
	for _, s := range c.servers {
		js := connect(t, addr(s))
		c.newBucket(t, js, bucket)
		all = append(all, newStore(t, js, bucket))
	}
	return all
}

// awaitLeader returns the name of the leader of a stream, when it has one and all others are up to
// date.
func awaitLeader(t *testing.T, stream jetstream.Stream) (name string) {
	t.Helper()
	traffic.Eventually(t, "a leader whom all follow", func() bool {
		info, err := stream.Info(t.Context())
		if err != nil || info.Cluster == nil || len(info.Cluster.Replicas) != 2 {
			return false
		}
		name = info.Cluster.Leader
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline {
				return false
			}
		}
		return name != ""
	})
	return name
}

func TestCluster(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	c := startCluster(t)
	t.Run("a limit", func(t *testing.T) {
		shareALimit(t, c.newStores(t, "limit"))
	})
	t.Run("reads", c.reads)
	t.Run("full", c.full)
	t.Run("failover", c.failover)
}

// When one process has counted events of a key or forgotten it, all others see that at once,
// whichever server they are connected to.
func (c *cluster) reads(t *testing.T) {
	var all []*weir.KeyedLimiter
	for _, s := range c.newStores(t, "reads") {
		all = append(all, newLimiter(t, s, traffic.Spacious))
	}
	for i := range runs.Long(300, 50) {
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
		require.Zero(t, traffic.Counted(t, all[1], key))
	}
}

// A full bucket with replicas refuses all writes, also of known keys, until values expire.
func (c *cluster) full(t *testing.T) {
	var js jetstream.JetStream
	for _, s := range c.servers {
		js = connect(t, addr(s))
	}
	c.newBucket(t, js, "full", func(c *jetstream.StreamConfig) { c.MaxBytes = 4000 })
	r := bucket.New(js, "full")
	const noRoom = "maximum bytes exceeded"
	value := make([]byte, 200)
	var known casstore.Entry
	for n := 0; ; n++ {
		require.Less(t, n, 20)
		now, ok, err := r.Swap(t.Context(), fmt.Sprint(n), casstore.Entry{}, value, 15*time.Second)
		if err != nil {
			require.Positive(t, n)
			require.ErrorContains(t, err, noRoom)
			break
		}
		require.True(t, ok)
		if n == 0 {
			known = now
		}
	}
	_, _, err := r.Swap(t.Context(), "0", known, value, time.Second)
	require.ErrorContains(t, err, noRoom)
	held, err := r.Get(t.Context(), "0")
	require.NoError(t, err)
	require.Equal(t, known, held)
	traffic.Eventually(t, "values to expire", func() bool {
		_, _, err := r.Swap(t.Context(), "new", casstore.Entry{}, value, time.Second)
		return err == nil
	})
}

// When the server of the leader stops, another takes over, and no count is lost.
func (c *cluster) failover(t *testing.T) {
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, "nats://"+addr(s))
	}
	js := connect(t, strings.TrimPrefix(strings.Join(urls, ","), "nats://"))
	stream := c.newBucket(t, js, "failover")
	tr := traffic.Drive(t, newLimiter(t, newStore(t, js, "failover"), traffic.Spacious), within)
	for range runs.Long(3, 1) {
		name := awaitLeader(t, stream)
		c.stop(name) // another may take over before a call fails
		tr.AwaitServed(t)
		c.start(t, name)
		tr.AwaitServed(t)
	}
	tr.Check(t)
}
