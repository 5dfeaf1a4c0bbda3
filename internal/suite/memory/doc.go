// Package memory tests what keys cost, and that forgetting them is not to be observed (R6, R22):
// MemStore under floods of keys, with keys that come once, and with more keys than it has room for.
// It goes through the public API.
package memory
