package test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
)

// A bucket that could forget counts, or does not exist, is an error of Check and of each decision,
// until it is right.
func TestCheck(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	right := jetstream.KeyValueConfig{LimitMarkerTTL: time.Second, Storage: jetstream.MemoryStorage}
	for bucket, c := range map[string]struct {
		change func(*jetstream.KeyValueConfig)
		want   string
	}{
		"history": {
			func(c *jetstream.KeyValueConfig) { c.History = 5 },
			"has a History of 5, must be 1: an older value would come back when the last has expired",
		},
		"nottl": {
			func(c *jetstream.KeyValueConfig) { c.LimitMarkerTTL = 0 },
			"has neither AllowMsgTTL nor a LimitMarkerTTL, must have AllowMsgTTL, so that each value can expire at its time",
		},
		"ttl": {
			func(c *jetstream.KeyValueConfig) { c.TTL = time.Hour },
			"has a TTL of 1h0m0s, must be 0: it would drop counts that still matter",
		},
		"sources": {
			func(c *jetstream.KeyValueConfig) { c.Sources = []*jetstream.StreamSource{{Name: "other"}} },
			"has Sources, must have none: they would replace values",
		},
	} {
		t.Run(bucket, func(t *testing.T) {
			s := newStore(t, js, bucket)
			l := newLimiter(t, s, traffic.Spacious)
			_, err := l.Take(t.Context(), "k", 1)
			assert.ErrorContains(t, err, "weir: natsstore: there is no bucket "+bucket+": ")
			assert.ErrorIs(t, err, jetstream.ErrStreamNotFound)
			assert.NotErrorIs(t, err, weir.ErrRequest)

			cfg := right
			cfg.Bucket = bucket
			c.change(&cfg)
			_, err = js.CreateKeyValue(t.Context(), cfg)
			require.NoError(t, err)
			assert.EqualError(t, s.Check(t.Context()), "weir: natsstore: bucket "+bucket+" "+c.want)
			_, err = l.Take(t.Context(), "k", 1)
			assert.ErrorContains(t, err, "weir: natsstore: bucket "+bucket+" "+c.want)

			require.NoError(t, js.DeleteKeyValue(t.Context(), bucket))
			cfg = right
			cfg.Bucket = bucket
			_, err = js.CreateKeyValue(t.Context(), cfg)
			require.NoError(t, err)
			require.True(t, l.Allow("k"))
			assert.NoError(t, s.Check(t.Context()))

			require.NoError(t, js.DeleteKeyValue(t.Context(), bucket))
			_, err = l.Take(t.Context(), "k", 1)
			assert.ErrorContains(t, err, "weir: natsstore: there is no bucket "+bucket+": ")
		})
	}
}

// Streams that were not made as buckets can have settings that buckets do not.
func TestCheck_Streams(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "KV_stream", Subjects: []string{"$KV.stream.>"}, MaxMsgsPerSubject: 2, MaxAge: time.Minute, MaxMsgs: 10,
		Retention: jetstream.InterestPolicy, Discard: jetstream.DiscardOld, Storage: jetstream.MemoryStorage,
	})
	require.NoError(t, err)
	assert.EqualError(t, newStore(t, js, "stream").Check(t.Context()),
		`weir: natsstore: bucket stream has a History of 2, must be 1: an older value would come back when the last has expired
weir: natsstore: bucket stream has neither AllowMsgTTL nor a LimitMarkerTTL, must have AllowMsgTTL, so that each value can expire at its time
weir: natsstore: bucket stream has a TTL of 1m0s, must be 0: it would drop counts that still matter
weir: natsstore: bucket stream has the retention policy Interest, must be Limits
weir: natsstore: bucket stream drops old values when it is full, must refuse new ones`)

	c := config("writes")
	c.DiscardNewPerSubject, c.NoAck = true, true
	c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "$KV.writes.>", Destination: "$KV.others.>"}
	createBucket(t, js, c)
	c.Sealed = true // only an update can do this
	_, err = js.UpdateStream(t.Context(), c)
	require.NoError(t, err)
	assert.EqualError(t, newStore(t, js, "writes").Check(t.Context()),
		`weir: natsstore: bucket writes has a SubjectTransform, must have none: values would be written to other keys
weir: natsstore: bucket writes has DiscardNewPerSubject, must not: the value of a key could not be replaced
weir: natsstore: bucket writes has NoAck, must not: it would not report whether it has replaced a value
weir: natsstore: bucket writes is Sealed, must not be: it takes no values`)

	star := newBucket(t, js, func(c *jetstream.StreamConfig) { c.Subjects = []string{"$KV.star.*"} }) // no key with a dot
	assert.EqualError(t, newStore(t, js, star).Check(t.Context()), "weir: natsstore: bucket "+star+
		` has the Subjects ["$KV.star.*"], must have $KV.`+star+".>: it would not take the values of all keys")

	origin := newBucket(t, js)
	mirror := newBucket(t, js, func(c *jetstream.StreamConfig) {
		c.Mirror, c.Subjects = &jetstream.StreamSource{Name: "KV_" + origin}, nil
	})
	assert.ErrorContains(t, newStore(t, js, mirror).Check(t.Context()),
		"weir: natsstore: bucket "+mirror+" is a Mirror, must be the bucket itself")
}

// The permissions that docs/stores.md shows are enough for decisions and for Check.
func TestPermissions(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../docs/stores.md")
	require.NoError(t, err)
	const publish, subscribe = "$JS.API.STREAM.INFO.KV_weir, $JS.API.STREAM.MSG.GET.KV_weir, $KV.weir.>", "_INBOX.>"
	require.Contains(t, string(docs), "```\npublish:   "+publish+"\nsubscribe: "+subscribe+"\n```\n")
	app := &server.User{Username: "app", Password: "app", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: strings.Split(publish, ", ")},
		Subscribe: &server.SubjectPermission{Allow: []string{subscribe}},
	}}
	s := start(t, &server.Options{
		Port: server.RANDOM_PORT, StoreDir: t.TempDir(),
		Users: []*server.User{app, {Username: "admin", Password: "admin"}},
	})
	t.Cleanup(s.Shutdown)
	admin := connect(t, addr(s), nats.UserInfo("admin", "admin"))
	createBucket(t, admin, config("weir"))
	var refused atomic.Int64
	js := connect(t, addr(s), nats.UserInfo("app", "app"),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { refused.Add(1) }))
	store := newStore(t, js, "") // the name by default
	require.NoError(t, store.Check(t.Context()))
	l := newLimiter(t, store, traffic.Spacious)
	for range 2 {
		_, err := l.Take(t.Context(), "a.b", 1)
		require.NoError(t, err)
	}
	assert.Equal(t, 2, traffic.Counted(t, l, "a.b"))
	require.NoError(t, l.Reset(t.Context(), "a.b"))
	assert.Zero(t, traffic.Counted(t, l, "a.b"))
	assert.Zero(t, refused.Load())
	require.NoError(t, js.Conn().Publish("$KV.other.k", nil))
	traffic.Eventually(t, "others to be refused", func() bool { return refused.Load() > 0 })
}
