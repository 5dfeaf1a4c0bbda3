package main

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/natsstore"
)

// The bucket is what docs/stores.md recommends. Check would also accept one that leaves markers in
// place of expired values. In a rare case, such a marker removes a newer grant.
func TestStartNATS_Bucket(t *testing.T) {
	a, stop, err := startNATS(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, stop()) }()
	conn, err := nats.Connect(a.NATS)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	store, err := natsstore.New(js, natsstore.Options{Bucket: bucket})
	require.NoError(t, err)
	require.NoError(t, store.Check(t.Context()))
	stream, err := js.Stream(t.Context(), "KV_"+bucket)
	require.NoError(t, err)
	assert.Zero(t, stream.CachedInfo().Config.SubjectDeleteMarkerTTL)
	assert.Equal(t, jetstream.MemoryStorage, stream.CachedInfo().Config.Storage)
}
