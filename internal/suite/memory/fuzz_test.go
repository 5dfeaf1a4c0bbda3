package memory

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R6: forgetting is never observable. Two limiters get the same takes: one on a store that is so
// small that it must forget to serve them, and one on a store of its own for each key, where
// nothing is ever dropped.
func FuzzForgetting(f *testing.F) {
	f.Add(uint8(0), []byte("\x01\x02\x03\x41\x42\x43\xf0\x01\x02\x03"))
	f.Add(uint8(9), []byte("aaaabbbbccccddddeeee0123456789\xff\xfe\xfd\x00\x00\x01\x01"))
	f.Add(uint8(2), []byte("1X172Y11Z0000C$%000\xff\xfe001")) // once forgot a key while another was put in
	for seed := range runs.Long[byte](100, 20) {
		steps := make([]byte, 300)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(steps)
		f.Add(seed, steps)
	}
	f.Fuzz(func(t *testing.T, policy uint8, steps []byte) {
		synctest.Test(t, func(t *testing.T) {
			const maxKeys = 6
			p := kit.EveryPolicy[int(policy)%len(kit.EveryPolicy)]
			mock := clock.NewMock()
			small := weir.Must(weir.New(p, weir.WithClock(mock), weir.WithStore(&weir.MemStore{MaxKeys: maxKeys})))
			forever := map[string]*weir.KeyedLimiter{}
			look := func(k string) weir.Result {
				if forever[k] == nil {
					forever[k] = weir.Must(weir.New(p, weir.WithClock(mock)))
				}
				return kit.Take(t, forever[k], k, 0)
			}
			inUse := func() (n int) {
				for k := range forever {
					if look(k).ResetAfter > 0 {
						n++
					}
				}
				return n
			}
			for i, b := range steps {
				k, n := kit.KeyName(int(b%16)), int(b>>4)%4
				if b>>6 == 3 { // time passes: up to the key's reset, a nanosecond before or after it, or 100 ms
					passes := []time.Duration{look(k).ResetAfter, look(k).ResetAfter - 1, look(k).ResetAfter + 1, 100 * time.Millisecond}[n]
					mock.Add(max(passes, 0))
					continue
				}
				if look(k).ResetAfter == 0 && inUse() == maxKeys {
					continue // there would be no room for it
				}
				require.Equal(t, kit.Take(t, forever[k], k, n), kit.Take(t, small, k, n), "step %d: %d of %s", i, n, k)
			}
		})
	})
}
