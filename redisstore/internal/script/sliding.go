package script

import (
	"math"
	"math/bits"

	"github.com/weir-go/weir"
)

// A sliding is the codec of SlidingWindow.
type sliding struct {
	width, buckets uint64 // width is in nanoseconds
	limit          uint64
	most           uint64 // the largest count
	size           int    // bytes of a count
	countBits      int    // bits of a count if a state is one word; else 0
}

func newSliding(p weir.SlidingWindow, words int) (sliding, bool) {
	k := uint64(max(p.Buckets, 1))
	s := sliding{width: uint64(p.Per) / k, buckets: k, limit: uint64(p.Limit)}
	if s.width%micro != 0 || s.limit > maxHalf/2 || s.width/micro > maxHalf/(k+1) {
		return s, false
	}
	s.size = sizeOf(2 * s.limit)
	s.most = min(1<<(8*s.size)-1, maxHalf/(k+2))
	if words == 1 {
		s.countBits = (63 - bits.Len64(math.MaxInt64/s.width)) / 2
		s.most = min(s.most, 1<<s.countBits-2)
	}
	return s, s.limit <= s.most && s.size <= 6
}

func (s sliding) ask(ask weir.Ask) (string, bool) {
	n, how, after, ok := countAsk(ask, s.limit)
	return format(s.size) + numbers(int64(s.width/micro), int64(s.buckets), int64(s.limit), int64(s.size), int64(s.most), n, how, after), ok
}

func (s sliding) decode(buf []uint64, value reader) ([]uint64, int64, bool) {
	start, _ := value.micros(), value.uint(7)
	latest := uint64(start) * micro / s.width
	words := append(buf, latest)
	for range s.buckets + 1 {
		words = append(words, 0)
	}
	for i := uint64(0); i <= s.buckets && len(value.s) >= s.size; i++ {
		count := value.uint(s.size)
		words[s.slot(latest-i)], value.ok = count, value.ok && count <= s.most
	}
	if s.countBits > 0 {
		words = append(buf, words[0]<<(2*s.countBits)|words[1]<<s.countBits|words[2])
	}
	return words, start, value.ok
}

// slot returns where the decider keeps the count of a sub-window.
func (s sliding) slot(i uint64) uint64 { return 1 + i%(s.buckets+1) }

func (s sliding) encode(state []uint64, _ int64) ([]byte, bool) {
	words := state
	if s.countBits > 0 {
		mask := uint64(1)<<s.countBits - 1
		words = []uint64{state[0] >> (2 * s.countBits), state[0] >> s.countBits & mask, state[0] & mask}
	}
	latest := words[0]
	whole, used, counts := uint64(0), 0, []byte(nil)
	for i := range min(s.buckets, latest) + 1 {
		count := words[s.slot(latest-i)]
		if count > s.most {
			return nil, false
		}
		if i < s.buckets {
			whole += count
		}
		if counts = appendUint(counts, count, s.size); count > 0 {
			used = len(counts)
		}
	}
	return append(appendUint(appendUint(nil, latest*s.width/micro, 7), whole, 7), counts[:used]...), true
}
