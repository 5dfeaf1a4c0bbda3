package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/snapshot"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// full is a store with all kinds of states: of every policy, changed ones, and shared ones because
// there is no room.
func full(t testing.TB) *weir.MemStore {
	store := &weir.MemStore{MaxKeys: 3*len(everyPolicy) + 4}
	for i, p := range append(everyPolicy, everyPolicy[0]) {
		mock := &kit.HandClock{Time: time.Unix(1, 0)}
		l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(strconv.Itoa(i)), weir.WithClock(mock)))
		for i := range 4 {
			_, err := l.Take(t.Context(), kit.KeyName(i), 1+i%2)
			require.NoError(t, err)
		}
		for j := range 3 {
			require.NoError(t, l.SetPolicy(t.Context(), everyPolicy[(i+j)%len(everyPolicy)]))
			l.Allow("key-0")
			l.Allow("key-1")
		}
	}
	return store
}

func saved(t testing.TB, s *weir.MemStore) []byte {
	var file bytes.Buffer
	require.NoError(t, s.Save(&file))
	return file.Bytes()
}

// contents are the keys of a file with their states, and the policies that these are of.
func contents(t testing.TB, file []byte) (snapshot.Header, map[[2]uint64]string) {
	r, header, err := snapshot.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	var policies []string
	keys := map[[2]uint64]string{}
	for {
		record, err := r.Next()
		if err == io.EOF {
			return header, keys
		}
		require.NoError(t, err)
		switch record := record.(type) {
		case snapshot.Policy:
			policies = append(policies, record.Text)
		case *snapshot.Key:
			words := slices.Clone(record.Words)
			state := ""
			if record.Policy > 0 {
				state = policies[record.Policy-1]
			} else { // numbers of policies are those of this file alone
				n := 1 + words[0]
				for _, by := range words[1:n] {
					state += policies[by-1] + "; "
				}
				words = words[n:]
			}
			for _, w := range words {
				state += " " + strconv.FormatUint(w, 16)
			}
			keys[[2]uint64{record.A, record.B}] = state
		}
	}
}

// A file has the states that the store has, to the bit.
func TestFileOfAFileIsTheSame(t *testing.T) {
	synctest.Test(t, fileOfAFileIsTheSame) // no state expires meanwhile
}

func fileOfAFileIsTheSame(t *testing.T) {
	store := full(t)
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 9, Per: time.Hour}, weir.WithStore(store), weir.WithName("by the system's clock")))
	for i := range 20 {
		l.Allow(kit.KeyName(i))
	}
	header, keys := contents(t, saved(t, store))
	assert.Greater(t, len(keys), store.Len(), "overflow entries, too")
	again, sameKeys := contents(t, saved(t, kit.Reloaded(store)))
	assert.Equal(t, header, again)
	assert.Equal(t, keys, sameKeys)
	third, sameKeys := contents(t, saved(t, kit.Reloaded(kit.Reloaded(store))))
	assert.Equal(t, header, third)
	assert.Equal(t, keys, sameKeys)
}

// A store that nobody has used can be saved, used and loaded.
func TestSaveOfAnEmptyStore(t *testing.T) {
	store := new(weir.MemStore)
	file := saved(t, store)
	require.NoError(t, store.Load(bytes.NewReader(file)))
	assert.Zero(t, store.Len())
	assert.True(t, weir.Must(weir.New(everyPolicy[0], weir.WithStore(store))).Allow("k"))
}

// unchanged requires that Load has failed for the reason, and that the store is as new.
func unchanged(t testing.TB, store *weir.MemStore, file io.Reader, reason string) {
	err := store.Load(file)
	require.Error(t, err)
	require.Contains(t, err.Error(), "weir: MemStore.Load: ")
	require.Contains(t, err.Error(), reason)
	require.Zero(t, store.Len())
}

// A file that ends early, or in which a bit has flipped, is an error and changes nothing.
func TestDamagedFiles(t *testing.T) {
	small := new(weir.MemStore)
	for i, p := range everyPolicy {
		l := weir.Must(weir.New(p, weir.WithStore(small), weir.WithName(""), weir.WithClock(&kit.HandClock{Time: time.Unix(1, 0)})))
		l.Allow(kit.KeyName(i % 2))
	}
	for _, c := range []struct {
		file []byte
		each int // bit that is tried
	}{{saved(t, small), runs.Long(1, 19)}, {saved(t, full(t)), runs.Long(1009, 9001)}} {
		file, store := c.file, new(weir.MemStore)
		for n := 0; n < len(file); n += max(c.each/8, 1) {
			unchanged(t, store, bytes.NewReader(file[:n]), "")
		}
		for i := 0; i < 8*len(file); i += c.each {
			file[i/8] ^= 1 << (i % 8)
			unchanged(t, store, bytes.NewReader(file), "")
			file[i/8] ^= 1 << (i % 8)
		}
		unchanged(t, store, bytes.NewReader(append(slices.Clone(file), 0)), "goes on after its end")
		require.NoError(t, store.Load(iotest.OneByteReader(bytes.NewReader(file))), "the store is as new still")
	}
}

// signed is a file with a checksum that is right.
func signed(parts ...[]byte) io.Reader {
	file := bytes.Join(parts, nil)
	sum := sha256.Sum256(file)
	return bytes.NewReader(append(file, sum[:]...))
}

// The error names the reason.
func TestRefusedFiles(t *testing.T) {
	head := saved(t, new(weir.MemStore))
	head = head[:len(head)-41] // without the end
	word := func(n byte) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 0} }
	policy := func(text string) []byte { return append([]byte{'p', byte(len(text)), 0, 0, 0}, text...) }
	key := func(policy byte, words ...byte) []byte {
		k := append(append([]byte{'k'}, word(1)...), word(0)...)
		k = append(k, policy, 0, 0, 0, byte(len(words)), 0, 0, 0)
		for _, w := range words {
			k = append(k, word(w)...)
		}
		return k
	}
	end := func(keys byte) []byte { return append([]byte{'e'}, word(keys)...) }
	newer := slices.Clone(head)
	newer[8]++
	deep := slices.Clone(head)
	deep[len(deep)-1] = 21
	noHash := key(1, 1)
	noHash[1] = 2

	for _, c := range []struct {
		name, reason string
		file         io.Reader
	}{
		{"empty", "no file of a MemStore", bytes.NewReader(nil)},
		{"foreign", "no file of a MemStore", bytes.NewReader([]byte(`{"keys":[]}`))},
		{"newer", "another version: 2, must be 1", signed(newer, end(0))},
		{"depth", "21 bits of a hash", signed(deep, end(0))},
		{"kind", "a record of the kind 'x'", signed(head, []byte("x"))},
		{"checksum", "checksum", bytes.NewReader(append(append(slices.Clone(head), end(0)...), make([]byte, 32)...))},
		{"count", "it has 0 keys, and says 3", signed(head, end(3))},
		{"policy", "policy", signed(head, policy("9/fortnight"), end(0))},
		{"no policy", "a state is none", signed(head, key(1, 1), end(1))},
		{"hash", "a state is none", signed(head, policy("fixed-window 5/1s"), noHash, end(1))},
		{"too many words", "a state is none", signed(head, policy("5/1s"), key(1, 1, 2, 3), end(1))},
		{"no words", "a state is none", signed(head, policy("5/1s"), key(1), end(1))},
		{"no ledger", "a state is none", signed(head, policy("5/1s"), key(0), end(1))},
		{"a ledger of nobody", "a state is none", signed(head, policy("5/1s"), key(0, 0), end(1))},
		{"a ledger of unknown", "a state is none", signed(head, policy("5/1s"), key(0, 1, 2, 0, 0, 0), end(1))},
		{"a ledger of too many", "a state is none", signed(head, policy("5/1s"), key(0, 200, 1), end(1))},
		{"twice", "two states", signed(head, policy("sliding-log 5/1s"), forever(key(1, 2, 1, 0)), forever(key(1, 2, 1, 0)), end(2))},
		{"hashes alike", "many have one hash", signed(head, policy("sliding-log 5/1s"), alike(forever(key(1, 2, 1, 0)), 20_000), end(0))},
		{"2^32 words", "unexpected EOF", bytes.NewReader(append(append(slices.Clone(head), policy("5/1s")...), manyWords(key(1))...))},
		{"2^32 bytes of text", "a policy of 4294967295 bytes", bytes.NewReader(append(slices.Clone(head), 'p', 255, 255, 255, 255))},
	} {
		t.Run(c.name, func(t *testing.T) { unchanged(t, new(weir.MemStore), c.file, c.reason) })
	}
}

// forever makes the last word an instant in a log that is far ahead.
func forever(key []byte) []byte {
	key[len(key)-1] = 0x7f
	return key
}

// alike are n keys whose hashes differ in a few bits only.
func alike(key []byte, n int) (keys []byte) {
	for i := range n {
		binary.LittleEndian.PutUint64(key[1:], 2*uint64(i)+1)
		keys = append(keys, key...)
	}
	return keys
}

// manyWords makes a key say that it has 2^32-1 words.
func manyWords(key []byte) []byte {
	copy(key[21:], []byte{255, 255, 255, 255})
	return append(key, 1, 2, 3)
}

// Errors of a reader and of a writer are those of Load and of Save.
func TestErrorsOfReaderAndWriter(t *testing.T) {
	broken := errors.New("the disk is on fire")
	store := full(t)
	file := saved(t, store)
	for n := 0; n < len(file); n += runs.Long(13, 307) {
		into := new(weir.MemStore)
		err := into.Load(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
		require.Zero(t, into.Len())
	}
	writes := 0
	count := writerFunc(func(p []byte) (int, error) {
		assert.LessOrEqual(t, len(p), 40<<10, "all keys are not held in memory")
		writes++
		return len(p), nil
	})
	store = new(weir.MemStore)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(store)))
	for i := range 10_000 {
		l.Allow(kit.KeyName(i))
	}
	require.NoError(t, store.Save(count))
	require.Greater(t, writes, 5)
	for fails := range writes {
		n := 0
		err := store.Save(writerFunc(func(p []byte) (int, error) {
			if n++; n > fails {
				require.Equal(t, fails+1, n, "nothing is written after an error")
				return 0, broken
			}
			return len(p), nil
		}))
		require.ErrorIs(t, err, broken)
		require.Contains(t, err.Error(), "weir: MemStore.Save: ")
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A store that has decided cannot be loaded, and goes on.
func TestLoadOfAStoreInUse(t *testing.T) {
	file := saved(t, full(t))
	store := new(weir.MemStore)
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: 1000 * time.Hour}, weir.WithStore(store)))
	require.True(t, l.Allow("k"))
	require.ErrorContains(t, store.Load(bytes.NewReader(file)), "the store is in use")
	assert.Equal(t, 1, store.Len())
	assert.False(t, l.Allow("k"))

	negative := &weir.MemStore{MaxKeys: -1}
	require.ErrorContains(t, negative.Load(bytes.NewReader(file)), "MaxKeys is -1")
	require.ErrorContains(t, negative.Save(io.Discard), "MaxKeys is -1")
}
