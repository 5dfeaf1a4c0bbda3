//go:build race

package rueidisstore

const raceEnabled = true
