package fleet

import "math"

// Places is how many places are remembered.
func (s *Shares) Places() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.places)
}

// Settle makes the share count at once, as it does a span after the last change.
func (s *Shares) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.places[len(s.places)-1]
	present.end = math.MaxInt64
	s.places = []place{present}
	s.turn++
}
