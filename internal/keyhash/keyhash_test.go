package keyhash

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var fixed = Seeds{
	0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
	0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6c,
}

// Files hold hashes: the same seeds give the same ones in every release and on every machine.
func TestSumStays(t *testing.T) {
	for _, c := range []struct {
		key  string
		a, b uint64
	}{
		{"", 0x9ba9bea0cd04dfde, 0xb9860e23b19e685e},
		{"a", 0xb53439c17758819d, 0xe232d5c868a73956},
		{"ada", 0x91d2f020b385014e, 0x3c05d0e0380fd4e9},
		{"user", 0x044a24a6b5e367f3, 0x70f11b81cc118cfb},
		{"203.0.113.7", 0x57e934b357c728c9, 0x6e2c48df59420f50},
		{"0123456789abcdef", 0x772ac9c42e230bac, 0x09a6f2258602d121},
		{"2001:db8::1/64 and more", 0x6e2db64fc2c70393, 0x857b33f0db463c29},
		{strings.Repeat("x", 1000), 0x92a34aedd7c786d3, 0x6ae05d98462daf63},
	} {
		a, b := fixed.Sum(c.key)
		assert.Equal(t, [2]uint64{c.a, c.b}, [2]uint64{a, b}, "{%q, %#016x, %#016x},", c.key, a, b)
	}
}

func TestSeedsAreRandom(t *testing.T) {
	s := New()
	require.NotEqual(t, s, New())
	for i, w := range s {
		assert.NotZero(t, w, i)
	}
}

// Keys that differ in a bit, in their length, or in the order of their parts have hashes of which
// about half of the bits differ, in each half.
func TestEachBitCounts(t *testing.T) {
	s := New()
	differ := func(k, l string) {
		ka, kb := s.Sum(k)
		la, lb := s.Sum(l)
		for _, x := range []uint64{ka ^ la, kb ^ lb, ka ^ kb} {
			n := bits.OnesCount64(x)
			assert.True(t, 4 < n && n < 60, "%q and %q: %d bits", k, l, n) // by chance once in 10^13
		}
	}
	for n := range 100 {
		key := strings.Repeat("\x00", n)
		differ(key, key+"\x00")
		for i := range 8 * n {
			b := []byte(key)
			b[i/8] ^= 1 << (i % 8)
			differ(key, string(b))
		}
	}
	differ("abcdefgh01234567", "01234567abcdefgh")
	differ("abcdefgh01234567x", "01234567abcdefghx")
}

// Each half alone tells many keys apart. By chance it does not once in 10^9.
func TestNoKeysCollide(t *testing.T) {
	s := New()
	as, bs := map[uint64]bool{}, map[uint64]bool{}
	const keys = 200_000
	for i := range keys {
		a, b := s.Sum(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		as[a], bs[b] = true, true
	}
	assert.Len(t, as, keys)
	assert.Len(t, bs, keys)
}

func BenchmarkSum(b *testing.B) {
	s := New()
	for _, n := range []int{3, 7, 12, 36, 1000} {
		key := strings.Repeat("k", n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s.Sum(key)
			}
		})
	}
}
