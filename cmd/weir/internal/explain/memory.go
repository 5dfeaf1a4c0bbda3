package explain

import "github.com/weir-go/weir"

// Memory is what a key takes in memory.
type Memory struct {
	NewWords  int    // words of 8 bytes of the state of a new key
	MostWords int    // of a new key when it has used all it can, at most
	MostBytes [2]int // of such a key in a weir.MemStore, with what it takes to find it: from, to
}

// MemoryOf returns the Memory of p. An error is that of p's method Decider.
func MemoryOf(p weir.Policy) (Memory, error) {
	d, err := p.Decider()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{NewWords: d.Words(), MostWords: d.Words()}
	for _, leaf := range leaves(p) {
		if log, ok := leaf.(weir.SlidingLog); ok {
			m.MostWords = sum(m.MostWords, log.Limit)
		}
	}
	m.MostBytes = [2]int{30, 50} // with one word
	if m.MostWords > 1 {
		room := m.MostWords
		if m.MostWords > m.NewWords { // a state that grows has room for more
			room = sum(room, room/4+2)
		}
		m.MostBytes = [2]int{sum(30, product(8, m.MostWords)), sum(50, product(10, room))}
	}
	return m, nil
}
