//go:build weir_play

package keyhash

import "math/rand/v2"

// fill fills b with random bytes. It is for the page of "weir play", where nobody looks for keys
// that collide. With package crypto/rand, that page would be 50 kB larger as it is sent.
func fill(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
}
