package replay

import "time"

// maxBars is how many spans of time are counted apart, at most.
const maxBars = 80

// widths of a bar. Each is a multiple of the one before. After the last they double.
var widths = []time.Duration{
	time.Second, 2 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// bars counts things over time, for a log whose end is not known. If it has no more room, several
// neighbors become one.
type bars struct {
	level int // of widths
	width time.Duration
	first int64 // the number of the first bar since the epoch, in widths
	rows  [][]int
}

func newBars(rows int) *bars {
	b := &bars{width: widths[0]}
	for range rows {
		b.rows = append(b.rows, []int{}) // nil would be null in JSON
	}
	return b
}

// at returns the index in each row of the bar for an instant. It is not before those of earlier
// calls.
func (b *bars) at(now int64) int {
	if len(b.rows[0]) == 0 {
		b.first = now / int64(b.width)
	}
	i := now/int64(b.width) - b.first
	for i >= maxBars {
		b.widen()
		i = now/int64(b.width) - b.first
	}
	for r := range b.rows {
		for len(b.rows[r]) <= int(i) {
			b.rows[r] = append(b.rows[r], 0)
		}
	}
	return int(i)
}

func (b *bars) widen() {
	ratio := int64(2)
	if b.level++; b.level < len(widths) {
		ratio = int64(widths[b.level] / b.width)
	}
	first := b.first / ratio
	for r, row := range b.rows {
		wider := row[:0]
		for i, n := range row {
			if to := int((b.first+int64(i))/ratio - first); to < len(wider) {
				wider[to] += n
			} else {
				wider = append(wider, n)
			}
		}
		b.rows[r] = wider
	}
	b.first, b.width = first, time.Duration(ratio)*b.width
}
