package fleet

import "github.com/weir-go/weir"

// Held is how many events of a key a store holds, and may use now.
func (s *LeaseStore) Held(p *weir.Plan, key string) int {
	if k := s.keys.find(p, key); k != nil {
		if l := k.lease.Load(); l != nil {
			return l.valid(p.Now())
		}
	}
	return 0
}

// Watched is how many keys have events that are to be given back when they are not used, and
// whether there is a timer for that.
func (s *LeaseStore) Watched() (keys int, timer bool) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return len(s.watch.keys), s.watch.at != 0
}

// Keys is how many keys there are.
func (s *LeaseStore) Keys() (n int) {
	for range s.keys.all() {
		n++
	}
	return n
}

// Line is how many requests for a key are kept that wait, and for which the store is not asked yet.
func (s *LeaseStore) Line(p *weir.Plan, key string) int {
	k := s.keys.find(p, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.line)
}
