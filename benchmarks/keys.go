package benchmarks

import (
	"encoding/hex"
	"math/rand/v2"
	"unsafe"
)

const keyLen = 16

// Keys are keys in the order in which a workload asks for them. They lie one after the other
// without a pointer, so that reading the next costs next to nothing, as the key of a request that
// was just parsed, and the garbage collector has nothing to do.
type Keys [][keyLen]byte

// At returns a key without a copy of it.
func (k Keys) At(i int) string { return unsafe.String(&k[i][0], keyLen) }

// key is the ith of all keys: 16 hexadecimal digits, no two alike, without order.
func key(i int) [keyLen]byte {
	x := uint64(i) + 0x9e3779b97f4a7c15 // the mixer of splitmix64 maps no two numbers to one
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	var b [8]byte
	for j := range b {
		b[j] = byte(x >> (8 * j))
	}
	var k [keyLen]byte
	hex.Encode(k[:], b[:])
	return k
}

// newKey is key in a string of its own, as a limiter gets it from its caller and may keep it.
func newKey(i int) string {
	k := key(i)
	return string(k[:])
}

// newKeys are n of them.
func newKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = newKey(i)
	}
	return keys
}

// uniform is each of n keys once, shuffled, the same way each time.
func uniform(n int) Keys {
	keys := make(Keys, n)
	for i := range keys {
		keys[i] = key(i)
	}
	seeded().Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// drawn is draws of n keys, each with the same chance. If a workload asks for keys in the same order
// again and again, states that grow come to lie in memory in that order. Processors read such
// memory ahead, as they could not for a server's keys.
func drawn(n, draws int) Keys {
	r := seeded()
	keys := make(Keys, draws)
	for i := range keys {
		keys[i] = key(r.IntN(n))
	}
	return keys
}

// zipf is draws of n keys after Zipf's law with the exponent 1.1: the hottest is
// asked for about once in eight times.
func zipf(n, draws int) Keys {
	r := seeded()
	z := rand.NewZipf(r, 1.1, 1, uint64(n-1))
	rank := r.Perm(n) // so that hot keys are no neighbours
	keys := make(Keys, draws)
	for i := range keys {
		keys[i] = key(rank[z.Uint64()])
	}
	return keys
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// populate asks l for each of n keys once, and returns how many it denied.
func populate(l Limiter, n int) (denied int) {
	for i := range n {
		if !l.Allow(newKey(i)) {
			denied++
		}
	}
	return denied
}
