package test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/casstore/registertest"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/natsstore/internal/bucket"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	for kind, change := range kinds {
		name := newBucket(t, connect(t, addr(server)), change)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			registertest.Run(t, func(t *testing.T) casstore.Register {
				return bucket.New(connect(t, addr(server)), name)
			})
		})
	}
}

// The two kinds of buckets.
var kinds = map[string]func(*jetstream.StreamConfig){
	"as documented": func(*jetstream.StreamConfig) {},
	"with markers":  withMarkers,
}

// Every Entry has a Version. A Swap tells what it wrote, and nothing if it has lost to another.
func TestRegisterTells(t *testing.T) {
	t.Parallel()
	_, js, name := newShared(t)
	r := bucket.New(js, name)
	old, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, old.Now.IsZero())
	require.NotNil(t, old.Version)
	now, ok, err := r.Swap(t.Context(), "k", old, []byte("first"), time.Hour)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "first", string(now.Value), "it tells")
	require.NotNil(t, now.Version)
	now, ok, err = r.Swap(t.Context(), "k", old, []byte("lost"), time.Hour)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, casstore.Entry{}, now, "it does not tell")
	require.NoError(t, r.Delete(t.Context(), "k"))
	old, err = r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NotNil(t, old.Version)
}

// The server is told to keep a value for as long as Swap was, in whole seconds and never less, and
// a marker for a second.
func TestTimesToLive(t *testing.T) {
	t.Parallel()
	_, js, name := newShared(t)
	r := bucket.New(js, name)
	stream, err := js.Stream(t.Context(), "KV_"+name)
	require.NoError(t, err)
	last := func() *jetstream.RawStreamMsg {
		m, err := stream.GetLastMsgForSubject(t.Context(), "$KV."+name+".k")
		require.NoError(t, err)
		return m
	}
	e, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	for _, c := range []struct {
		keep time.Duration
		want string
	}{
		{time.Millisecond, "1s"},
		{time.Second, "1s"},
		{1001 * time.Millisecond, "2s"},
		{25 * time.Hour, "90000s"},
		{100 * traffic.Year, "3153600000s"},
		{100*traffic.Year + time.Millisecond, "never"},
		{weir.Never - weir.Never%time.Millisecond, "never"},
		{weir.Never, "never"},
	} {
		var ok bool
		e, ok, err = r.Swap(t.Context(), "k", e, []byte(c.want), c.keep)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, c.want, last().Header.Get(jetstream.MsgTTLHeader), "%v", c.keep)
		e, err = r.Get(t.Context(), "k")
		require.NoError(t, err)
		assert.Equal(t, c.want, string(e.Value), "it has not expired")
	}
	require.NoError(t, r.Delete(t.Context(), "k"))
	assert.Equal(t, "1s", last().Header.Get(jetstream.MsgTTLHeader))
	traffic.Eventually(t, "the marker to expire", func() bool {
		_, err := stream.GetLastMsgForSubject(t.Context(), "$KV."+name+".k")
		return err != nil
	})
}

// An expired value is gone, and in the end so is all the room that the key took up. Until then, an
// old Entry cannot be swapped, and a new one can.
func TestExpired(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	for kind, change := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			expires(t, js, newBucket(t, js, change))
		})
	}
}

func expires(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	r := bucket.New(js, name)
	stream, err := js.Stream(t.Context(), "KV_"+name)
	require.NoError(t, err)
	swap := func(e casstore.Entry) (casstore.Entry, bool) {
		e, ok, err := r.Swap(t.Context(), "k", e, []byte("x"), time.Millisecond)
		require.NoError(t, err)
		return e, ok
	}
	e, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	old, ok := swap(e)
	require.True(t, ok)
	for range runs.Long(2, 1) { // there is a marker, and then nothing
		traffic.Eventually(t, "the value to expire", func() bool {
			e, err = r.Get(t.Context(), "k")
			require.NoError(t, err)
			return len(e.Value) == 0
		})
		_, ok = swap(old)
		assert.False(t, ok)
		old, ok = swap(e)
		assert.True(t, ok)
		traffic.Eventually(t, "the stream to be empty", func() bool {
			info, err := stream.Info(t.Context())
			require.NoError(t, err)
			return info.State.Msgs == 0
		})
	}
}

// A bucket that was made with a LimitMarkerTTL becomes one as documented, and keeps its counts.
// When a value expires, the server then writes nothing to its key. It would not compare the
// revision, and might wipe out a grant.
func TestExpired_WithoutAWrite(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)))
	const name = "converted"
	c := config(name)
	withMarkers(&c)
	createBucket(t, js, c)
	r := bucket.New(js, name)
	e, ok, err := r.Swap(t.Context(), "k", casstore.Entry{}, []byte("x"), 5*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	stream, err := js.CreateOrUpdateStream(t.Context(), config(name))
	require.NoError(t, err)
	held, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, e, held)
	traffic.Eventually(t, "the value to expire", func() bool {
		e, err = r.Get(t.Context(), "k")
		require.NoError(t, err)
		return len(e.Value) == 0
	})
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, info.State.LastSeq)
	assert.Zero(t, info.State.Msgs)
}

// Those who watch the bucket, or read it by other tools, see values and deletions of keys.
func TestKeyValueTools(t *testing.T) {
	t.Parallel()
	s, js, name := newShared(t)
	kv, err := js.KeyValue(t.Context(), name)
	require.NoError(t, err)
	watcher, err := kv.WatchAll(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, watcher.Stop()) }()
	require.Nil(t, <-watcher.Updates(), "nothing there yet")
	l := newLimiter(t, s, traffic.Spacious)
	require.True(t, l.Allow("a.b:c"))
	const key = "weir/1/test/a.b=3Ac"
	update := <-watcher.Updates()
	assert.Equal(t, key, update.Key())
	assert.Equal(t, jetstream.KeyValuePut, update.Operation())
	require.NoError(t, l.Reset(t.Context(), "a.b:c"))
	assert.Equal(t, jetstream.KeyValuePurge, (<-watcher.Updates()).Operation())

	require.True(t, l.Allow("a.b:c"))
	require.Equal(t, 1, traffic.Counted(t, l, "a.b:c"))
	require.NoError(t, kv.Delete(t.Context(), key))
	assert.Zero(t, traffic.Counted(t, l, "a.b:c"), "deleted by a tool")
	require.True(t, l.Allow("a.b:c"))
	require.NoError(t, kv.Purge(t.Context(), key))
	assert.Zero(t, traffic.Counted(t, l, "a.b:c"), "purged by a tool")
	require.True(t, l.Allow("a.b:c"))
}

// A value that no store wrote is an error of the requests for its key, and of no others.
func TestCorruptedValues(t *testing.T) {
	t.Parallel()
	s, js, name := newShared(t)
	kv, err := js.KeyValue(t.Context(), name)
	require.NoError(t, err)
	l := newLimiter(t, s, weir.SlidingLog{Limit: 5, Per: time.Hour})
	require.True(t, l.Allow("k"))
	held, err := kv.Get(t.Context(), "weir/1/test/k")
	require.NoError(t, err)
	intact := held.Value()
	for _, v := range [][]byte{{0}, []byte("1"), intact[:len(intact)-1], append(bytes.Clone(intact), 0), bytes.Repeat([]byte{255}, 1000)} {
		_, err := kv.Put(t.Context(), "weir/1/test/k", v)
		require.NoError(t, err)
		r, err := l.Take(t.Context(), "k", 1)
		assert.ErrorIs(t, err, weir.ErrRequest, "%x", v)
		assert.Equal(t, weir.Result{}, r)
		assert.True(t, l.Allow("another "+fmt.Sprint(len(v))))
	}
	_, err = kv.Put(t.Context(), "weir/1/test/k", nil)
	require.NoError(t, err)
	assert.Zero(t, traffic.Counted(t, l, "k"), "as no value")
	assert.True(t, l.Allow("k"))
}

// A JetStream of a domain of its own, or behind a prefix, does all the same.
func TestDomains(t *testing.T) {
	t.Parallel()
	s := start(t, &server.Options{Port: server.RANDOM_PORT, StoreDir: t.TempDir(), JetStreamDomain: "hub"})
	t.Cleanup(s.Shutdown)
	conn := connect(t, addr(s)).Conn()
	for name, open := range map[string]func() (jetstream.JetStream, error){
		"domain":    func() (jetstream.JetStream, error) { return jetstream.NewWithDomain(conn, "hub") },
		"prefix":    func() (jetstream.JetStream, error) { return jetstream.NewWithAPIPrefix(conn, "$JS.hub.API") },
		"prefix.":   func() (jetstream.JetStream, error) { return jetstream.NewWithAPIPrefix(conn, "$JS.hub.API.") },
		"usual":     func() (jetstream.JetStream, error) { return jetstream.New(conn) },
		"as usual.": func() (jetstream.JetStream, error) { return jetstream.NewWithAPIPrefix(conn, "$JS.API.") },
	} {
		t.Run(name, func(t *testing.T) {
			js, err := open()
			require.NoError(t, err)
			l := newLimiter(t, newStore(t, js, newBucket(t, js)), traffic.Spacious)
			for range 2 {
				_, err := l.Take(t.Context(), "k", 1)
				require.NoError(t, err)
			}
			assert.Equal(t, 2, traffic.Counted(t, l, "k"))
			require.NoError(t, l.Reset(t.Context(), "k"))
			assert.Zero(t, traffic.Counted(t, l, "k"))
		})
	}
}

// One inbox for each request does, too.
func TestOldRequestStyle(t *testing.T) {
	t.Parallel()
	js := connect(t, addr(sharedServer(t)), nats.UseOldRequestStyle())
	l := newLimiter(t, newStore(t, js, newBucket(t, js)), traffic.Spacious)
	require.True(t, l.Allow("k"))
	assert.Equal(t, 1, traffic.Counted(t, l, "k"))
}
