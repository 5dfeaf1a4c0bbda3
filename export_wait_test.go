package weir

// Lines is how many lines of waiting callers the limiter keeps. It is zero when nobody waits.
func Lines(k *Keyed) int {
	k.lines.mu.Lock()
	defer k.lines.mu.Unlock()
	return len(k.lines.all)
}

// PoliciesKnown is how many policies the limiter has ready that WithPolicyFor returned.
func PoliciesKnown(k *Keyed) int { return len(*k.plans.known.Load()) }
