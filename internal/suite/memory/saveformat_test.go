package memory

import (
	"bytes"
	"crypto/sha256"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A foreign policy is one of another package.
type foreign struct{ weir.TokenBucket }

// The states of a policy without a text cannot be saved, and Save says so and names it.
func TestSaveOfAPolicyWithoutText(t *testing.T) {
	deep := weir.Policy(weir.TokenBucket{Limit: 5, Per: time.Hour})
	for range 9 {
		deep = weir.All(deep, weir.FixedWindow{Limit: 9, Per: time.Hour})
	}
	for _, c := range []struct {
		policy weir.Policy
		named  string
	}{
		{foreign{weir.TokenBucket{Limit: 5, Per: time.Hour}}, "memory.foreign{"},
		{weir.All(weir.FixedWindow{Limit: 9, Per: time.Hour}, foreign{weir.TokenBucket{Limit: 5, Per: time.Hour}}), "memory.foreign{"},
		{deep, "at most 8 deep in brackets"},
	} {
		store := new(weir.MemStore)
		l := weir.Must(weir.New(c.policy, weir.WithStore(store)))
		require.True(t, l.Allow("k"))
		var file bytes.Buffer
		err := store.Save(&file)
		require.ErrorContains(t, err, "weir: MemStore.Save: ")
		assert.ErrorContains(t, err, c.named)
		unchanged(t, new(weir.MemStore), &file, "")
		require.NoError(t, l.Reset(t.Context(), "k"))
		require.NoError(t, store.Save(&file), "it has no state any more")
	}
}

// testdata/v1 was saved by the first release that could. If this fails, the meaning of states, of
// hashes or of the file has changed. Raise the version in internal/snapshot, and save a new file.
func TestFileOfTheFirstRelease(t *testing.T) {
	const name = "testdata/v1"
	if os.Getenv("WEIR_NEW_FILE") != "" {
		require.NoError(t, os.WriteFile(name, saved(t, full(t)), 0o600))
	}
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	_, keys := contents(t, file)
	_, now := contents(t, saved(t, full(t)))
	values := func(m map[[2]uint64]string) (all []string) {
		for _, state := range m {
			all = append(all, state)
		}
		slices.Sort(all)
		return all
	}
	assert.Equal(t, values(keys), values(now), "the same calls leave the same states")

	store := new(weir.MemStore)
	require.NoError(t, store.Load(bytes.NewReader(file)))
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Second}, weir.WithStore(store),
		weir.WithName("9"), weir.WithClock(&kit.HandClock{Time: time.Unix(1, 0)})))
	assert.Equal(t, 4, kit.Take(t, l, "key-2", 0).Remaining)
	assert.Equal(t, 3, kit.Take(t, l, "key-3", 0).Remaining)
}

// Any bytes are an error that changes nothing, or a store that can be saved and loaded again. The
// checksum is set right: else all would be the one error.
func FuzzLoad(f *testing.F) {
	for i, p := range everyPolicy { // small files: the fuzzer takes long to make one smaller
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(&kit.HandClock{Time: time.Unix(1, 0)})))
		l.Allow("k")
		require.NoError(f, l.SetPolicy(f.Context(), everyPolicy[(i+1)%len(everyPolicy)]))
		l.Allow("k")
		l.Allow("another")
		file := saved(f, store)
		f.Add(file[:len(file)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		store := &weir.MemStore{MaxKeys: 10}
		if store.Load(signed(file)) != nil {
			require.Zero(t, store.Len())
			return
		}
		_, keys := contents(t, saved(t, store))
		_, again := contents(t, saved(t, kit.Reloaded(store)))
		require.LessOrEqual(t, len(again), len(keys), "some may have expired")
		for h, state := range again {
			require.Equal(t, keys[h], state)
		}
		for i, p := range everyPolicy {
			l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(strconv.Itoa(i))))
			l.Allow("k") // sweeps
		}
	})
}

// A store of any number of keys comes back, with each of them. A file begins with the keys of few
// segments, whose hashes begin alike, as those of a made-up file may.
func TestManyKeysAreLoaded(t *testing.T) {
	policy := weir.FixedWindow{Limit: 1, Per: weir.Never}
	for _, n := range []int{1, 1000, 10_000, runs.Long(1_000_000, 30_000)} {
		store, loaded := new(weir.MemStore), new(weir.MemStore)
		l := weir.Must(weir.New(policy, weir.WithStore(store)))
		for i := range n {
			l.Allow(kit.KeyName(i))
		}
		var file bytes.Buffer
		require.NoError(t, store.Save(&file))
		require.NoError(t, loaded.Load(&file))
		require.Equal(t, n, loaded.Len())
		l = weir.Must(weir.New(policy, weir.WithStore(loaded)))
		for i := range n {
			require.False(t, l.Allow(kit.KeyName(i)))
		}
	}
}
