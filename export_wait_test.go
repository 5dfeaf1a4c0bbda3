package weir

// Lines is how many lines of waiting callers the limiter keeps. It is zero when nobody waits.
func Lines(k *Keyed) int {
	k.lines.mu.Lock()
	defer k.lines.mu.Unlock()
	return len(k.lines.all)
}

// PoliciesKnown is how many policies the limiter has ready that WithPolicyFor returned.
func PoliciesKnown(k *Keyed) int { return len(*k.plans.known.Load()) }

// Writers is how many policies a store remembers that it has met.
func Writers(s *MemStore) int {
	m := s.memory.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.scopes.byID)
}
