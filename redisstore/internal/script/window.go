package script

import (
	"math"
	"math/bits"

	"github.com/weir-go/weir"
)

// A window is the codec of FixedWindow.
type window struct {
	per       uint64 // nanoseconds
	limit     uint64
	most      uint64 // the largest count
	aligned   bool
	countBits int // bits of the count if a state is one word; else 0
}

func newWindow(p weir.FixedWindow, words int) (window, bool) {
	w := window{per: uint64(p.Per), limit: uint64(p.Limit), most: 1<<48 - 1, aligned: !p.FromFirst}
	if w.aligned && words == 1 {
		w.countBits = 63 - bits.Len64(math.MaxInt64/w.per)
		w.most = min(w.most, 1<<w.countBits-2) // the decider does not distinguish larger counts
	}
	fits := w.limit <= w.most && micros(w.per) <= maxHalf && (p.FromFirst || w.per%micro == 0)
	return w, fits
}

func (w window) ask(ask weir.Ask) (string, bool) {
	aligned := int64(0)
	if w.aligned {
		aligned = 1
	}
	n, how, after, ok := countAsk(ask, w.limit)
	return numbers(micros(w.per), int64(w.limit), int64(w.most), aligned, n, how, after), ok
}

func (w window) decode(buf []uint64, value reader) ([]uint64, int64, bool) {
	latest, count := value.micros(), value.uint(6)
	start := uint64(latest) * micro
	switch {
	case !w.aligned:
		buf = append(buf, start, count)
	case w.countBits > 0:
		buf = append(buf, start/w.per<<w.countBits|count)
	default:
		buf = append(buf, start/w.per, count)
	}
	return buf, latest, value.ok && count <= w.most
}

func (w window) encode(state []uint64, _ int64) ([]byte, bool) {
	start, count := state[0], uint64(0)
	switch {
	case !w.aligned:
		count = state[1]
	case w.countBits > 0:
		start, count = state[0]>>w.countBits*w.per, state[0]&(1<<w.countBits-1)
	default:
		start, count = state[0]*w.per, state[1]
	}
	return appendUint(appendUint(nil, start/micro, 7), count, 6), start%micro == 0 && count <= w.most
}
