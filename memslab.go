package weir

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A slab keeps the states that are more than a word, in blocks of equal size on pages. So they lie
// where the garbage collector has nothing to follow, and a block that is freed serves the next
// state of its size; a page whose blocks are all free is given back.
//
// A block is used by whoever holds the entry that refers to it. The slab's own lock is for getting and
// freeing blocks.
type slab struct {
	pages atomic.Pointer[[]*page] // by number; nil where one was given back

	mu      sync.Mutex
	free    []uint64          // numbers of pages given back
	classes [64 * 4]slabClass // by the size of their blocks
}

type slabClass struct {
	pages  int      // how many there are
	usable []uint64 // the numbers of those with a free block, the fullest first
}

type page struct {
	words []uint64
	size  int // words of a block
	len   int // words in use, if the page is a single large block
	used  int // blocks in use
	spare int // the first free block, 1 and up, which names the next in its first word; 0 if none
	fresh int // blocks from this one on have never been used
}

const (
	firstPage = 1 << 8  // words of the first page of a class
	wholePage = 1 << 15 // words of a page when there are many, and of the largest block that shares one
)

// A ref tells where a block is: the number of its page, that of the block in it, and how many of
// its words are in use. The first bit is left to the entry.
type ref = uint64

const (
	refLen   = 16
	refBlock = 15
)

func makeRef(page uint64, block, n int) ref {
	return page<<(refLen+refBlock) | uint64(block)<<refLen | uint64(n)
}

// class is the number of the smallest class of blocks that hold n words, and their size. There are
// four sizes for each doubling.
func class(n int) (number, size int) {
	if n <= 8 {
		return n, n
	}
	shift := bits.Len(uint(n-1)) - 3
	step := (n-1)>>shift + 1 // 5 to 8
	return shift*4 + step, step << shift
}

// get is the state at r, with the capacity of its block.
func (s *slab) get(r ref) []uint64 {
	p := (*s.pages.Load())[r>>(refLen+refBlock)]
	n := int(r & (1<<refLen - 1))
	if p.size > wholePage {
		n = p.len
	}
	at := int(r>>refLen&(1<<refBlock-1)) * p.size
	return p.words[at : at+n : at+p.size]
}

// add keeps a copy of state, with room to grow by about a quarter if it grows.
func (s *slab) add(state []uint64, grows bool) ref {
	n := max(len(state), 1) // a state of no words has a block all the same, to grow in
	if grows {
		n += n/4 + 2
	}
	lock(&s.mu)
	defer s.mu.Unlock()
	number, size := class(n)
	c := &s.classes[number]
	if len(c.usable) == 0 {
		c.usable = append(c.usable, s.newPage(c, size))
	}
	id := c.usable[len(c.usable)-1]
	p := (*s.pages.Load())[id]
	block := p.spare - 1
	if p.spare != 0 {
		p.spare = int(p.words[block*size])
	} else {
		block = p.fresh
		p.fresh++
	}
	if p.used++; p.used == len(p.words)/size {
		c.usable = c.usable[:len(c.usable)-1]
	}
	copy(p.words[block*size:], state)
	if size > wholePage {
		p.len = len(state)
		return makeRef(id, 0, 0)
	}
	return makeRef(id, block, len(state))
}

// newPage adds a page for c, small if it is among the first. It requires that s.mu is held.
func (s *slab) newPage(c *slabClass, size int) uint64 {
	words := min(firstPage<<min(c.pages, 7), wholePage)
	c.pages++
	p := &page{words: make([]uint64, max(words/size, 1)*size), size: size}
	var pages []*page
	if old := s.pages.Load(); old != nil {
		pages = *old
	}
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		pages[id] = p
		return id
	}
	pages = append(pages, p)
	s.pages.Store(&pages)
	return uint64(len(pages) - 1)
}

// remove frees the block at r.
func (s *slab) remove(r ref) {
	lock(&s.mu)
	defer s.mu.Unlock()
	id := r >> (refLen + refBlock)
	p := (*s.pages.Load())[id]
	number, _ := class(p.size)
	c := &s.classes[number]
	blocks := len(p.words) / p.size
	if p.used == blocks {
		c.usable = append(c.usable, id)
	}
	if p.used--; p.used == 0 && (c.pages > 1 || p.size > wholePage) {
		s.giveBack(c, id)
		return
	}
	block := int(r >> refLen & (1<<refBlock - 1))
	p.words[block*p.size] = uint64(p.spare)
	p.spare = block + 1
}

// giveBack drops a page, all of whose blocks are free. It requires that s.mu is held.
func (s *slab) giveBack(c *slabClass, id uint64) {
	for i, u := range c.usable {
		if u == id {
			last := len(c.usable) - 1
			c.usable[i] = c.usable[last]
			c.usable = c.usable[:last]
			break
		}
	}
	c.pages--
	(*s.pages.Load())[id] = nil
	s.free = append(s.free, id)
}

// withRoom is get after the state at r has been given room to grow, if it needs that: if it fills its
// block, and is no longer of the size that it started with. It returns where it is then. A policy that
// appends to it does so in place.
func (s *slab) withRoom(r ref, started int) (ref, []uint64) {
	state := s.get(r)
	if len(state) == started || len(state)+1 < cap(state) {
		return r, state
	}
	moved := s.add(state, true)
	s.remove(r)
	return moved, s.get(moved)
}

// update makes state, which a decision made of the block at r, that block's content. It returns
// where it is now, for it moves where it has outgrown the block or uses little of it.
func (s *slab) update(r ref, block, state []uint64) ref {
	n, size := len(state), cap(block)
	if n > 0 && &state[0] == &block[:1][0] && (n > size/4 || size <= 8) {
		switch {
		case n == len(block):
			return r
		case size > wholePage:
			(*s.pages.Load())[r>>(refLen+refBlock)].len = n
			return r
		default:
			return r&^(1<<refLen-1) | uint64(n)
		}
	}
	moved := s.add(state, n > size)
	s.remove(r)
	return moved
}
