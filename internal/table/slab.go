package table

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A slab keeps the states of more than one word, in blocks of equal size on pages. The garbage
// collector has nothing to follow there. A freed block serves the next state of its size. A page
// whose blocks are all free is given back. The sweeper empties pages of which little is used.
//
// The holder of an entry may use the block that it refers to. To get and to free blocks takes the
// lock of their shelf, which many keys share. Therefore nobody copies a state, makes a page or
// touches a block while holding it. When they did, 40 times as many of 64 goroutines whose logs
// grew had to park.
type slab struct {
	pages atomic.Pointer[pages] // nil as long as there is none

	first   shelf                           // of all keys, as long as there are few
	shelves atomic.Pointer[[]separateShelf] // by the first bits of the hash, once there are many

	mu sync.Mutex // guards the pages; whoever takes it may hold that of a shelf
}

// pages are those of all shelves.
type pages struct {
	all  []*page  // by number; nil where one was given back
	free []uint32 // numbers of pages given back
}

// A shelf has the pages of some of the keys. With a single one for all keys, 16 processors together
// made fewer decisions on growing logs than one alone.
type shelf struct {
	mu      sync.Mutex // guards what follows, and which blocks of the pages are in use
	classes []*slabClass
}

// A separateShelf has a cache line of its own.
type separateShelf struct {
	shelf
	_ [32]byte
}

type slabClass struct {
	shelf  *shelf
	size   int     // words of a block
	used   int     // blocks in use
	usable []*page // those with a free block
}

type page struct {
	class  *slabClass
	words  []uint64     // the blocks, and behind them a bit for each that is in use
	size   int          // words of a block
	blocks int          // how many there are
	number uint32       // among all pages
	len    uint32       // words in use, if the page is a single large block
	used   atomic.Int32 // blocks in use
	from   int32        // no word of taken before this one has a bit that is clear
}

const (
	firstPage = 1 << 4  // words of the first page of a class
	wholePage = 1 << 13 // words of a page when there are many
	maxBlock  = 1 << 15 // words of the largest block whose Ref tells how many are in use
)

// A Ref tells where a block is: the number of its page, that of the block in it, and how many of
// its words are in use. The first bit is left to the entry.
type Ref = uint64

const (
	refLen   = 16
	refBlock = 15
)

func makeRef(page uint32, block, n int) Ref {
	return uint64(page)<<(refLen+refBlock) | uint64(block)<<refLen | uint64(n)
}

// blockSize is the size of the smallest blocks that hold n words. There are four sizes for each
// doubling.
func blockSize(n int) int {
	if n <= 8 {
		return n
	}
	shift := bits.Len(uint(n-1)) - 3
	return ((n-1)>>shift + 1) << shift // 5 to 8, shifted
}

func (s *slab) page(r Ref) *page { return s.pages.Load().all[r>>(refLen+refBlock)] }

// get is the state at r, with the capacity of its block.
func (s *slab) get(r Ref) []uint64 {
	p := s.page(r)
	n := int(r & (1<<refLen - 1))
	if p.size > maxBlock {
		n = int(p.len)
	}
	at := int(r>>refLen&(1<<refBlock-1)) * p.size
	return p.words[at : at+n : at+p.size]
}

// divide makes shelves, a power of two, once there are many keys.
func (s *slab) divide(shelves int) {
	many := make([]separateShelf, shelves)
	s.shelves.Store(&many)
}

// shelf is that of new blocks for the key of h.
func (s *slab) shelf(h Hash) *shelf {
	many := s.shelves.Load()
	if many == nil {
		return &s.first
	}
	return &(*many)[h.a>>32*uint64(len(*many))>>32].shelf
}

// add keeps a copy of the state of h.
func (s *slab) add(h Hash, state []uint64) Ref { return s.put(s.shelf(h), state, len(state)) }

// move is add of a state that has outgrown the block at r, or uses little of it, and frees that. A
// state that grows gets room to grow by about a quarter.
func (s *slab) move(h Hash, r Ref, state []uint64, grows bool) Ref {
	n := len(state)
	if grows {
		n += n/4 + 2
	}
	moved := s.put(s.shelf(h), state, n)
	s.remove(r)
	return moved
}

// WithRoom returns the state of h at r, with the capacity of its block, and where it is now. If it
// fills its block, and no longer has as many words as it started with, it grows: it is moved to a
// block in which the caller can append to it. The entry must be held.
func (t *Table) WithRoom(h Hash, r Ref, started int) (Ref, []uint64) {
	state := t.slab.get(r)
	if len(state) == started || len(state)+1 < cap(state) {
		return r, state
	}
	moved := t.slab.move(h, r, state, true)
	return moved, t.slab.get(moved)
}

// Update keeps state, which the caller made of the block that [Table.WithRoom] returned, in place
// or by append. It returns where the state is now, for [Entry.Release]: a state moves if it has
// outgrown the block, or uses little of it.
func (t *Table) Update(h Hash, r Ref, block, state []uint64) Ref {
	n, size := len(state), cap(block)
	if n > 0 && &state[0] == &block[:1][0] && (n > size/4 || size <= 8) {
		switch {
		case n == len(block):
			return r
		case size > maxBlock:
			t.slab.page(r).len = uint32(n)
			return r
		default:
			return r&^(1<<refLen-1) | uint64(n)
		}
	}
	return t.slab.move(h, r, state, n > size)
}
