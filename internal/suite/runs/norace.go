//go:build !race

package runs

// Race is whether the race detector runs. It allocates, and has pools drop what they hold.
const Race = false
