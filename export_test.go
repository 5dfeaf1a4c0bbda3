package weir

// PoliciesKnown is how many policies the limiter has ready that WithPolicyFor returned.
func PoliciesKnown(k *KeyedLimiter) int {
	n := 0
	for _, generation := range []*planTable{k.plans.known.young.Load(), k.plans.known.old.Load()} {
		for i := range *generation {
			if (*generation)[i].Load() != nil {
				n++
			}
		}
	}
	return n
}

// Writers is how many policies a store remembers that it has met.
func Writers(s *MemStore) int {
	return s.memory.Load().Writers() - 1 // that of ledgers
}

// Unnamed is how many limiters without a name a store remembers, garbage among them.
func Unnamed(s *MemStore) int {
	s.limiters.mu.Lock()
	defer s.limiters.mu.Unlock()
	return len(s.limiters.unnamed)
}
