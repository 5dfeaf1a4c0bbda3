package table

import "slices"

// put keeps a copy of state in a block of n words at least. It requires that s.mu is held.
func (s *slab) put(state []uint64, n int) Ref {
	size := blockSize(max(n, 1)) // a state of no words has a block all the same, to grow in
	number := slices.IndexFunc(s.classes, func(c *slabClass) bool { return c.size == size })
	if number < 0 {
		number = len(s.classes)
		s.classes = append(s.classes, &slabClass{size: size})
	}
	c := s.classes[number]
	if len(c.usable) == 0 {
		s.newPage(c)
	}
	p := c.usable[len(c.usable)-1]
	block := p.fresh
	if p.free != 0 {
		block = p.free - 1
		p.free = p.words[int(block)*size]
	} else {
		p.fresh++
	}
	words := p.words[int(block)*size:]
	if p.full() {
		c.usable = c.usable[:len(c.usable)-1]
	}
	c.used++
	p.used.Add(1)
	copy(words, state)
	if size > maxBlock {
		p.len = len(state)
		return makeRef(p.number, 0, 0)
	}
	return makeRef(p.number, int(block), len(state))
}

// full reports whether p has no free block.
func (p *page) full() bool { return p.free == 0 && int(p.fresh)*p.size == len(p.words) }

// pageWords is how many words the next page of c has: as many as are in use, within limits.
func (c *slabClass) pageWords() int { return min(max(c.used*c.size, firstPage), wholePage) }

// newPage adds a page for c, which is the next to be used. It requires that s.mu is held.
func (s *slab) newPage(c *slabClass) {
	blocks := max(c.pageWords()/c.size, 1)
	p := &page{class: c, words: make([]uint64, blocks*c.size), size: c.size}
	var pages []*page
	if old := s.pages.Load(); old != nil {
		pages = *old
	}
	if n := len(s.free); n > 0 {
		p.number = s.free[n-1]
		s.free = s.free[:n-1]
		pages[p.number] = p
	} else {
		p.number = uint64(len(pages))
		pages = append(pages, p)
		s.pages.Store(&pages)
	}
	c.usable = append(c.usable, p)
}

// remove frees the block at r, whose key is gone.
func (s *slab) remove(r Ref) {
	lock(&s.mu)
	defer s.mu.Unlock()
	s.drop(r)
}

// drop frees a block, and gives its page back if that was the last there. A small page stays if it
// is the only one of its class. It requires that s.mu is held.
func (s *slab) drop(r Ref) {
	p := s.page(r)
	c := p.class
	if p.full() {
		c.usable = append(c.usable, p)
	}
	block := r >> refLen & (1<<refBlock - 1)
	p.words[int(block)*p.size] = p.free
	p.free = block + 1
	c.used--
	if p.used.Add(-1) == 0 && (c.used > 0 || len(p.words) > firstPage) {
		i := slices.Index(c.usable, p)
		c.usable = slices.Delete(c.usable, i, i+1)
		(*s.pages.Load())[p.number] = nil
		s.free = append(s.free, p.number)
	}
}

// pack moves the block at r, if less than half of its page is used, to the page that serves the
// next state, or to a new one if a much smaller one will do. In this way pages become empty, and
// are given back. It returns where the block is then.
func (s *slab) pack(r Ref) Ref {
	p := s.page(r)
	if 2*int(p.used.Load())*p.size >= len(p.words) {
		return r
	}
	lock(&s.mu)
	defer s.mu.Unlock()
	if c := p.class; len(c.usable) > 0 && c.usable[len(c.usable)-1] == p {
		if len(p.words) < 4*c.pageWords() {
			return r
		}
		s.newPage(c)
	}
	block := s.get(r)
	moved := s.put(block, cap(block))
	s.drop(r)
	return moved
}
