package rueidisstore

import (
	"cmp"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// newClient is a client with the options that users have who set none but these.
func newClient(tb testing.TB, change ...func(*rueidis.ClientOption)) rueidis.Client {
	tb.Helper()
	options := rueidis.ClientOption{}
	for _, c := range change {
		c(&options)
	}
	client, err := rueidis.NewClient(options)
	require.NoError(tb, err)
	tb.Cleanup(client.Close)
	return client
}

func at(addrs ...string) func(*rueidis.ClientOption) {
	return func(o *rueidis.ClientOption) { o.InitAddress = addrs }
}

func newStore(tb testing.TB, client rueidis.Client, c remote.Config) *Store {
	tb.Helper()
	c.Timeout = cmp.Or(c.Timeout, checks.Patience)
	s, err := open(client, c)
	require.NoError(tb, err)
	return s
}

func made(tb testing.TB, addrs []string, c remote.Config) weir.Store {
	return newStore(tb, newClient(tb, at(addrs...)), c)
}

func TestStore(t *testing.T) {
	t.Parallel()
	checks.StoreOfAnotherClient(t, made)
}

func TestStoreInRealTime(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.InRealTime(t, made)
}

func TestSingleServer(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.SingleServer(t, made)
}

// Processes with either client share their limits.
func TestP14_BothClientsGrantTheLimitTogether(t *testing.T) {
	addr := redistest.Single(t).Addr()
	goRedis := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: checks.Patience})
	t.Cleanup(func() { goRedis.Close() })
	other, err := redisstore.New(goRedis, redisstore.Options{Timeout: checks.Patience})
	require.NoError(t, err)
	checks.GrantTogether(t, made(t, []string{addr}, remote.Config{}), other)
}

func TestForgottenScriptIsSentAgain(t *testing.T) { checks.ForgottenScripts(t, made) }

// They are the key and the reply.
func TestCallsAllocateTwice(t *testing.T) {
	if runs.Race {
		t.Skip("the race detector allocates")
	}
	checks.Allocations(t, made, 2)
}

func TestFaultsOfNew(t *testing.T) {
	_, err := New(nil, Options{Timeout: -1, MaxInFlight: -2, MaxKeyLen: -3, Prefix: "a{b"})
	for _, want := range []string{
		"weir: rueidisstore.New without a client",
		"weir: rueidisstore.Options.Timeout is -1ns, must be at least 0",
		"weir: rueidisstore.Options.MaxInFlight is -2, must be at least 0",
		"weir: rueidisstore.Options.MaxKeyLen is -3, must be at least 0",
		`weir: rueidisstore.Options.Prefix is "a{b"`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestLongKeysAreHashed(t *testing.T) {
	server := redistest.Single(t)
	l := checks.LimiterOn(t, newStore(t, newClient(t, at(server.Addr())), Options{Prefix: "p", MaxKeyLen: 40}.config()), checks.Spacious)
	require.True(t, l.Allow("a key of more than as many as forty bytes"))
	require.True(t, l.Allow("a key"))
	assert.ElementsMatch(t, []any{
		"p:1:{TestLongKeysAreHashed:a key}",
		"p:1:{TestLongKeysAreHashed:%~GZmqZVSiykF_OFtU1KIR3Vc5U422PxYKlV1GdWZHw7E}",
	}, server.MustDo("KEYS", "*"))
}
