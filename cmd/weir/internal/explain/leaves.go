package explain

import "github.com/weir-go/weir"

// leaves returns the policies that p is composed of, however deep, or p itself.
func leaves(p weir.Policy) []weir.Policy {
	parts := weir.Components(p)
	if parts == nil {
		return []weir.Policy{p}
	}
	var all []weir.Policy
	for _, part := range parts {
		all = append(all, leaves(part)...)
	}
	return all
}
