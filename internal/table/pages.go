package table

import (
	"math"
	"math/bits"
	"slices"
)

// put keeps a copy of state in a block of n words at least.
func (s *slab) put(sh *shelf, state []uint64, n int) Ref {
	p, block := s.reserve(sh, blockSize(max(n, 1))) // a state of no words has a block all the same, to grow in
	copy(p.words[block*p.size:], state)
	if p.size > maxBlock {
		p.len = uint32(len(state))
		return makeRef(p.number, 0, 0)
	}
	return makeRef(p.number, block, len(state))
}

// reserve returns a free block of size words, which is then in use.
func (s *slab) reserve(sh *shelf, size int) (p *page, block int) {
	lock(&sh.mu)
	c := sh.class(size)
	for len(c.usable) == 0 {
		words := c.pageWords()
		sh.mu.Unlock()
		p := newPage(c, words) // which may take long, if the system has to provide the memory
		lock(&sh.mu)
		if len(c.usable) == 0 { // else another was faster
			s.addPage(p)
		}
	}
	p = c.usable[len(c.usable)-1]
	block = p.take()
	if p.full() {
		c.usable = c.usable[:len(c.usable)-1]
	}
	c.used++
	sh.mu.Unlock()
	return p, block
}

// class is that of blocks of size words. It requires that sh.mu is held.
func (sh *shelf) class(size int) *slabClass {
	for _, c := range sh.classes {
		if c.size == size {
			return c
		}
	}
	c := &slabClass{shelf: sh, size: size}
	sh.classes = append(sh.classes, c)
	return c
}

// newPage makes a page of about as many words for blocks of c, all of them free.
func newPage(c *slabClass, words int) *page {
	blocks := max(words*64/(c.size*64+1), 1) // with a bit for each
	p := &page{class: c, size: c.size, blocks: blocks, words: make([]uint64, blocks*c.size+(blocks+63)/64)}
	if behind := blocks % 64; behind > 0 {
		p.words[len(p.words)-1] = math.MaxUint64 << behind // bits of no block
	}
	return p
}

// full reports whether p has no free block.
func (p *page) full() bool { return int(p.used.Load()) == p.blocks }

// taken has a bit for each block in use.
func (p *page) taken() []uint64 { return p.words[p.blocks*p.size:] }

// take returns the first block that is free, which is then in use. The system need not provide
// memory for blocks that were never used. There must be a free one.
func (p *page) take() (block int) {
	taken := p.taken()
	for taken[p.from] == math.MaxUint64 {
		p.from++
	}
	bit := bits.TrailingZeros64(^taken[p.from])
	taken[p.from] |= 1 << bit
	p.used.Add(1)
	return int(p.from)*64 + bit
}

// leave makes a block free.
func (p *page) leave(block int) {
	p.taken()[block/64] &^= 1 << (block % 64)
	p.from = min(p.from, int32(block/64))
	p.used.Add(-1)
}

// pageWords is how many words the next page of c has: as many as are in use, within limits.
func (c *slabClass) pageWords() int { return min(max(c.used*c.size, firstPage), wholePage) }

// addPage makes p the next page of its class to be used. It requires that the shelf's mu is held.
func (s *slab) addPage(p *page) {
	lock(&s.mu)
	defer s.mu.Unlock()
	known := s.pages.Load()
	if known == nil {
		known = new(pages)
	}
	if n := len(known.free); n > 0 {
		p.number = known.free[n-1]
		known.free = known.free[:n-1]
		known.all[p.number] = p
	} else {
		p.number = uint32(len(known.all))
		s.pages.Store(&pages{all: append(known.all, p)})
	}
	p.class.usable = append(p.class.usable, p)
}

// remove frees the block at r, and gives its page back if that was the last there. A small page
// stays if it is the only one of its class.
func (s *slab) remove(r Ref) {
	p := s.page(r)
	c := p.class
	lock(&c.shelf.mu)
	defer c.shelf.mu.Unlock()
	if p.full() {
		c.usable = append(c.usable, p)
	}
	p.leave(int(r >> refLen & (1<<refBlock - 1)))
	c.used--
	if p.used.Load() == 0 && (c.used > 0 || len(p.words) > firstPage) {
		i := slices.Index(c.usable, p)
		c.usable = slices.Delete(c.usable, i, i+1)
		s.removePage(p)
	}
}

func (s *slab) removePage(p *page) {
	lock(&s.mu)
	defer s.mu.Unlock()
	known := s.pages.Load()
	known.all[p.number] = nil
	known.free = append(known.free, p.number)
}

// pack moves the block at r, if less than half of its page is used, to the page that serves the
// next state, or to a new one if a much smaller one will do. In this way pages become empty, and
// are given back. It returns where the block is then.
func (s *slab) pack(r Ref) Ref {
	p := s.page(r)
	if 2*int(p.used.Load()) >= p.blocks || !s.leadsAway(p) {
		return r
	}
	block := s.get(r)
	moved := s.put(p.class.shelf, block, cap(block))
	s.remove(r)
	return moved
}

// leadsAway reports whether the next state of p's class goes to another page, and sees to it if p
// is far too large.
func (s *slab) leadsAway(p *page) bool {
	c := p.class
	lock(&c.shelf.mu)
	defer c.shelf.mu.Unlock()
	if len(c.usable) == 0 || c.usable[len(c.usable)-1] != p {
		return true
	}
	if len(p.words) < 2*c.pageWords() {
		return false
	}
	s.addPage(newPage(c, c.pageWords()))
	return true
}
