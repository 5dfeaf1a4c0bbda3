// Package keyhash hashes keys to 128 bits under secret seeds that can be written down.
//
// It is wyhash, by Wang Yi, in the form that the Go runtime has for machines without AES
// instructions, once for each half of the result. [hash/maphash] would do if hashes were for one
// process alone: its seeds mean nothing in another.
package keyhash

import (
	"encoding/binary"
	"math/bits"
)

// Seeds are the secret of a hash: the words that the words of a key are mixed with, three for each
// half of the result. Anybody who knows them can make keys that collide. The halves have nothing in
// common. If a key meets a weak word in one half, the other half still tells it apart.
type Seeds [6]uint64

// New returns random seeds.
func New() (s Seeds) {
	var random [8 * len(s)]byte
	fill(random[:])
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(random[8*i:])
	}
	return s
}

// Sum returns the hash of a key. With the same seeds it is the same on all machines.
func (s *Seeds) Sum(key string) (a, b uint64) {
	n := uint64(len(key))
	a, b = s[0], s[3]
	var x, y uint64 // the last bytes: up to 16, in which those of a short key overlap
	switch {
	case n > 16:
		rest := key
		for ; len(rest) > 16; rest = rest[16:] {
			x, y = load64(rest), load64(rest[8:])
			a, b = mix(x^s[1], y^a), mix(x^s[4], y^b)
		}
		x, y = load64(key[n-16:]), load64(key[n-8:])
	case n >= 8:
		x, y = load64(key), load64(key[n-8:])
	case n >= 4:
		x, y = load32(key), load32(key[n-4:])
	case n > 0:
		x = uint64(key[0])<<16 | uint64(key[n/2])<<8 | uint64(key[n-1])
	}
	return mix(s[2]^n, mix(x^s[1], y^a)), mix(s[5]^n, mix(x^s[4], y^b))
}

// mix is both halves of a product, each masking the other.
func mix(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// load64 reads the first eight bytes. The compiler makes it one instruction where it can be.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
