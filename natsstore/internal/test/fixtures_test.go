package test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/storetest/faultproxy"
)

const year = 365 * 24 * time.Hour

// spacious is never used up in a test, and its window doesn't end in one. The bucket has counted
// Limit - Remaining events.
var spacious = weir.FixedWindow{Limit: 1_000_000, Per: year, FromFirst: true}

func newStore(tb testing.TB, js jetstream.JetStream, bucket string) *natsstore.Store {
	tb.Helper()
	s, err := natsstore.New(js, natsstore.Options{Bucket: bucket, Timeout: patience})
	require.NoError(tb, err)
	return s
}

// newShared returns a store with a bucket of its own on the server that all tests share.
func newShared(tb testing.TB) (*natsstore.Store, jetstream.JetStream, string) {
	tb.Helper()
	js := connect(tb, addr(sharedServer(tb)))
	bucket := newBucket(tb, js)
	return newStore(tb, js, bucket), js, bucket
}

// newProxied returns a store with a bucket of its own behind a proxy.
func newProxied(tb testing.TB) (*natsstore.Store, *faultproxy.Proxy) {
	tb.Helper()
	proxy := faultproxy.New(tb, addr(sharedServer(tb)), nil)
	js := connect(tb, proxy.Addr())
	return newStore(tb, js, newBucket(tb, js)), proxy
}

func newLimiter(tb testing.TB, s weir.Store, p weir.Policy) *weir.KeyedLimiter {
	tb.Helper()
	l, err := weir.New(p, weir.WithStore(s), weir.WithName("test"))
	require.NoError(tb, err)
	return l
}

// counted returns how many events the bucket has counted for the key. It asks until there is an
// answer: the connection may just be breaking.
func counted(tb testing.TB, l *weir.KeyedLimiter, key string) int {
	tb.Helper()
	var r weir.Result
	eventually(tb, "a look", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		var err error
		r, err = l.Take(ctx, key, 0)
		return err == nil
	})
	return r.Limit - r.Remaining
}

func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// isSwap reports whether a request executes a Swap.
func isSwap(request []byte) bool {
	return bytes.Contains(request, []byte(jetstream.ExpectedLastSubjSeqHeader))
}
