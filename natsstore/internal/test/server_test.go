package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
)

func TestMain(m *testing.M) {
	serveIfChild()
	runs.Main(m)
	if s := running.server; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		_ = os.RemoveAll(running.dir)
	}
}

// running is the server that the tests of the package share. The first of them starts it.
var running struct {
	sync.Mutex
	server *server.Server
	dir    string
}

func sharedServer(tb testing.TB) *server.Server {
	tb.Helper()
	running.Lock()
	defer running.Unlock()
	if running.server == nil {
		var err error
		running.dir, err = os.MkdirTemp("", "natsstore")
		require.NoError(tb, err)
		running.server = start(tb, &server.Options{Port: server.RANDOM_PORT, StoreDir: running.dir})
	}
	return running.server
}

// start starts a server with o, and returns when it answers. The caller shuts it down.
func start(tb testing.TB, o *server.Options) *server.Server {
	tb.Helper()
	o.Host, o.NoLog, o.NoSigs, o.JetStream = "127.0.0.1", true, true, true
	s, err := server.NewServer(o)
	require.NoError(tb, err)
	s.Start()
	if !s.ReadyForConnections(traffic.Patience) {
		s.Shutdown()
		tb.Fatalf("the server is not ready after %v", traffic.Patience)
	}
	return s
}

// connect returns a connection to the server at addr, which it finds again as soon as it is there.
func connect(tb testing.TB, addr string, options ...nats.Option) jetstream.JetStream {
	tb.Helper()
	conn, err := nats.Connect("nats://"+addr, append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(5 * time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.Timeout(traffic.Patience),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // of connections that tests break
	}, options...)...)
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(tb, err)
	return js
}

func addr(s *server.Server) string { return s.Addr().String() }

var buckets atomic.Int64

// config is that of a bucket as docs/stores.md tells.
func config(bucket string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1, AllowMsgTTL: true,
		Discard: jetstream.DiscardNew, AllowRollup: true, AllowDirect: true, DenyDelete: true,
		Storage: jetstream.MemoryStorage,
	}
}

// withMarkers makes it a bucket as KeyValueConfig with a LimitMarkerTTL does.
func withMarkers(c *jetstream.StreamConfig) { c.SubjectDeleteMarkerTTL = time.Second }

// newBucket makes a bucket of its own, and returns its name.
func newBucket(tb testing.TB, js jetstream.JetStream, change ...func(*jetstream.StreamConfig)) string {
	tb.Helper()
	name := fmt.Sprint("bucket", buckets.Add(1))
	c := config(name)
	for _, f := range change {
		f(&c)
	}
	createBucket(tb, js, c)
	return name
}

func createBucket(tb testing.TB, js jetstream.JetStream, c jetstream.StreamConfig) {
	tb.Helper()
	_, err := js.CreateStream(tb.Context(), c)
	for end := time.Now().Add(traffic.Patience); errors.Is(err, context.DeadlineExceeded) && time.Now().Before(end); {
		_, err = js.CreateStream(tb.Context(), c) // it waits for 5 s; a busy server may lose a request
	}
	require.NoError(tb, err)
}
