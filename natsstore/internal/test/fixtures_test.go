package test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/storetest/faultproxy"
)

func newStore(tb testing.TB, js jetstream.JetStream, bucket string) *natsstore.Store {
	tb.Helper()
	s, err := natsstore.New(js, natsstore.Options{Bucket: bucket, Timeout: traffic.Patience})
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

// isSwap reports whether a request executes a Swap.
func isSwap(request []byte) bool {
	return bytes.Contains(request, []byte(jetstream.ExpectedLastSubjSeqHeader))
}
