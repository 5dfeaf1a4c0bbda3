//go:build !race

package rueidisstore

const raceEnabled = false
