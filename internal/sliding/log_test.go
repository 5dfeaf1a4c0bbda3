package sliding

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plainLog is a Log as a list of instants with their numbers of events, oldest first.
type plainLog struct {
	Log
	kept    []plainEntry // as they were left by the latest write
	entries []plainEntry // those of kept that are in the window
	now     uint64
}

type plainEntry struct{ at, n uint64 }

func (p *plainLog) look(now uint64) {
	if p.now = now; len(p.kept) > 0 {
		p.now = max(now, p.kept[len(p.kept)-1].at)
	}
	left := func(e plainEntry) bool { return e.at+p.Per <= p.now }
	p.entries = slices.DeleteFunc(slices.Clone(p.kept), left)
}

func (p *plainLog) write() { p.kept = slices.Clone(p.entries) }

func (p *plainLog) total() (n uint64) {
	for _, e := range p.entries {
		n += e.n
	}
	return n
}

func (p *plainLog) words() (n uint64) {
	for _, e := range p.entries {
		n += min(e.n, 2)
	}
	return n
}

func (p *plainLog) take(n uint64) {
	last := len(p.entries) - 1
	if last >= 0 && (p.entries[last].at == p.now || p.total() > p.Limit && p.words() > 2*p.Limit) {
		p.entries[last] = plainEntry{p.now, p.entries[last].n + n}
		return
	}
	p.entries = append(p.entries, plainEntry{p.now, n})
}

func (p *plainLog) giveBack(n, countedAt uint64) {
	for i := range slices.Backward(p.entries) {
		if e := &p.entries[i]; e.at <= countedAt {
			back := min(n, e.n)
			e.n, n = e.n-back, n-back
		}
	}
	p.entries = slices.DeleteFunc(p.entries, func(e plainEntry) bool { return e.n == 0 })
}

// left is the instant at which n of the events have left.
func (p *plainLog) left(n uint64) uint64 {
	for _, e := range p.entries {
		if n <= e.n {
			return e.at + p.Per
		}
		n -= e.n
	}
	panic("so many events are not there")
}

func TestLog_IsAListOfInstants(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		log := Log{Limit: 1 + r.Uint64N(12), Per: 1 + r.Uint64N(20)}
		plain := plainLog{Log: log}
		state := make([]uint64, LogWords)
		now := r.Uint64N(100)
		for range 300 {
			if now += r.Uint64N(4); r.IntN(8) == 0 {
				now -= min(now, r.Uint64N(10)) // the clock steps back
			}
			before := slices.Clone(state)
			var v LogView
			require.True(t, log.View(&v, state, int64(now)))
			plain.look(now)
			require.Equal(t, before, state, "a look changes nothing")
			switch r.IntN(4) {
			case 0:
				n, at := 1+r.Uint64N(5), now-min(now, r.Uint64N(2*log.Per))
				if v.GiveBack(n, int64(at)); len(plain.entries) > 0 {
					plain.giveBack(n, at)
					plain.write()
				}
				require.True(t, v.Intact())
			case 1, 2:
				n := 1 + r.Uint64N(3)
				if v.Room() < n && r.IntN(3) > 0 {
					continue
				}
				v.Take(n)
				plain.take(n)
				plain.write()
			}
			requireLog(t, &plain, &v, now)
			state = v.State
		}
	}
}

func requireLog(t *testing.T, p *plainLog, v *LogView, now uint64) {
	t.Helper()
	require.Equal(t, p.total(), v.Total)
	require.Equal(t, p.now, v.Now)
	require.Equal(t, p.Limit-min(p.total(), p.Limit), v.Room())
	require.True(t, p.Sound(v.State))
	require.LessOrEqual(t, uint64(len(v.State)), 2*p.Limit+4+p.words()/3, "words")
	if v.Total == 0 {
		require.Zero(t, v.EmptyAfter())
		require.LessOrEqual(t, uint64(p.Expiry(v.State)), v.Now)
		return
	}
	for n := uint64(1); n <= v.Total; n++ {
		require.EqualValues(t, p.left(n)-now, v.LeftAfter(n), "the %d oldest of %d", n, v.Total)
	}
	require.Equal(t, v.LeftAfter(v.Total), v.EmptyAfter())
	require.EqualValues(t, p.left(v.Total), p.Expiry(v.State))
}

// A debt that has no number is never given back, and ends with the window.
func TestLog_DebtWithoutANumber(t *testing.T) {
	log := Log{Limit: 2, Per: 10}
	var v LogView
	require.True(t, log.View(&v, make([]uint64, LogWords), 5))
	v.Take(0)
	require.Zero(t, v.Total)
	v.Take(1)
	v.Take(math.MaxUint64)
	require.Equal(t, uint64(maxEvents), v.Total)
	v.Take(math.MaxUint64)
	require.Equal(t, uint64(maxEvents), v.Total, "the largest stands for all larger ones")
	v.GiveBack(math.MaxUint64, 5)
	require.Equal(t, uint64(maxEvents), v.Total, "nothing lowers it")
	require.True(t, log.Sound(v.State))
	require.EqualValues(t, 15, log.Expiry(v.State))
	state := v.State
	require.True(t, log.View(&v, state, 14))
	require.Zero(t, v.Room())
	require.True(t, log.View(&v, state, 15))
	require.EqualValues(t, 2, v.Room())
}

// Words of entries that have left go when they are a quarter of the state. A take then moves O(1)
// words on average.
func TestLog_MovesFewWords(t *testing.T) {
	log := Log{Limit: 1000, Per: 1000}
	state, moved := make([]uint64, LogWords), 0
	for now := range int64(20_000) {
		var v LogView
		require.True(t, log.View(&v, state, now))
		head := v.head
		v.Take(1)
		if v.head != head {
			moved += len(v.State) - logEntries
		}
		state = v.State
		require.LessOrEqual(t, len(state), logEntries+1000*4/3+1)
	}
	require.Less(t, moved, 4*20_000)
}

// Words that no log leaves: View finds those by which it would go astray, and Sound all.
func TestLog_Sound(t *testing.T) {
	log := Log{Limit: 5, Per: 10}
	for _, c := range []struct {
		name  string
		state []uint64
		view  bool
	}{
		{"nothing at all", nil, false},
		{"no total", []uint64{2}, false},
		{"starts behind the end", []uint64{4, 1, 20 << 1}, false},
		{"starts at the end, with events", []uint64{3, 1, 20 << 1}, false},
		{"events without entries", []uint64{2, 1}, false},
		{"an entry without events", []uint64{2, 0, 20 << 1}, false},
		{"a count of no entry", []uint64{2, 1, 20<<1 | 1}, false},
		{"two counts of an entry", []uint64{2, 3, 5 << 1, 3, 3}, false},
		{"fewer events than those that leave", []uint64{2, 1, 5 << 1, 2<<1 | 1, 20 << 1}, false},
		{"fewer events than entries stand for", []uint64{2, 2, 20 << 1, 3<<1 | 1}, true},
		{"a count before the first instant", []uint64{2, 2, 3, 20 << 1}, true},
		{"an older instant after a newer one", []uint64{2, 2, 21 << 1, 20 << 1}, true},
		{"an entry of no events", []uint64{2, 1, 20 << 1, 1, 21 << 1}, true},
		{"more events than a count holds", []uint64{2, maxEvents, 20 << 1, maxEvents<<1 | 1, 21 << 1}, true},
	} {
		var v LogView
		require.Equal(t, c.view, log.View(&v, c.state, 25), c.name)
		require.False(t, log.Sound(c.state), c.name)
	}

	var v LogView
	require.True(t, log.View(&v, []uint64{3, 5, 5<<1 | 1, 20 << 1}, 25))
	v.GiveBack(5, 25)
	require.False(t, v.Intact(), "there were fewer entries to take from")

	require.True(t, log.View(&v, []uint64{3, 3, 20 << 1, 20<<1 | 1, 21 << 1}, 25))
	v.GiveBack(3, 25)
	require.False(t, v.Intact(), "the count belongs to an entry that has left")
}
