//go:build !race

package runs

// Race reports whether the race detector runs. The detector allocates, and makes pools drop values.
const Race = false
