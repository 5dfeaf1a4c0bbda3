// Package memory tests how much memory keys take, and that nobody can observe that they are
// forgotten (R6, R22): MemStore under floods of keys, with keys that come once, and with more keys
// than it has room for. It goes through the public API.
package memory
