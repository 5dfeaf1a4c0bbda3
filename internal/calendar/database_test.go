package calendar

import (
	"archive/zip"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// zonesOfGo are all zones of the database that comes with Go, which is that of package time/tzdata.
// Zones that differ only by their names are listed once.
func zonesOfGo(t testing.TB) []*time.Location {
	root := os.Getenv("GOROOT") // go test sets it
	if root == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		require.NoError(t, err)
		root = strings.TrimSpace(string(out))
	}
	archive, err := zip.OpenReader(filepath.Join(root, "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err, "the zones that come with Go")
	defer func() { require.NoError(t, archive.Close()) }()

	var zones []*time.Location
	known, names := map[uint32]bool{}, 0
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		names++
		r, err := file.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		if sum := crc32.ChecksumIEEE(data); !known[sum] {
			known[sum] = true
			zone, err := time.LoadLocationFromTZData(file.Name, data)
			require.NoError(t, err, file.Name)
			zones = append(zones, zone)
		}
	}
	require.Greater(t, names, 500)
	require.Greater(t, len(zones), 300)
	return zones
}

// transitions are the instants from 1970 to 2037 at which the clocks of a zone are put forward or
// back. They are found by looking at the clocks every twelve hours; looking every hour finds no
// more.
func transitions(zone *time.Location) []int64 {
	var found []int64
	const step = 12 * 60 * 60
	offset := func(at int64) int {
		_, offset := time.Unix(at, 0).In(zone).Zone()
		return offset
	}
	known := offset(0)
	for at := int64(step); at < 2_145_916_800; at += step { // until 2038
		now := offset(at)
		if now == known {
			continue
		}
		before, after := at-step, at
		for after-before > 1 {
			if middle := (before + after) / 2; offset(middle) == known {
				before = middle
			} else {
				after = middle
			}
		}
		found, known = append(found, after), now
	}
	return found
}

// A tzFile is a zone in the format of RFC 8536, version 1.
type tzFile struct{ times, types, offsets []byte }

// add lets the clocks have the offset from an instant on.
func (f *tzFile) add(at int64, offset int) {
	if len(f.offsets) == 0 {
		f.offsets = append(f.offsets, 0, 0, 0, 0, 0, 0) // before the first
	}
	if at < 0 || at >= 1<<31 {
		return
	}
	f.times = append(f.times, byte(at>>24), byte(at>>16), byte(at>>8), byte(at))
	f.types = append(f.types, byte(len(f.offsets)/6))
	f.offsets = append(f.offsets, byte(offset>>24), byte(offset>>16), byte(offset>>8), byte(offset), 0, 0)
}

func (f *tzFile) bytes() []byte {
	header := append([]byte("TZif"), make([]byte, 16+12)...) // no leap seconds nor indicators
	header = append(header, 0, 0, 0, byte(len(f.types)), 0, 0, 0, byte(len(f.offsets)/6), 0, 0, 0, 4)
	name := []byte("MUZ\x00")
	return append(append(append(append(header, f.times...), f.types...), f.offsets...), name...)
}
