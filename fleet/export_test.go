package fleet

import "math"

// Settle makes the share count at once, as it does a span after the last change.
func (s *Shares) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.places[len(s.places)-1]
	present.end = math.MaxInt64
	s.places, s.changed = []place{present}, 0
	s.turn++
}
