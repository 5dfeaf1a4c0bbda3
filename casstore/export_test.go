package casstore

// Lines returns how many keys have a line of callers.
func (s *Store) Lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}
