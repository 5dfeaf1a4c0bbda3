package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
)

// childArg is the argument by which the command tells itself to be the process that is measured.
// After it come the name of a row and a number of decisions, or nothing for allocations.
const childArg = "decide"

// serve is the measured process.
func serve(args []string) error {
	if len(args) == 0 {
		return serveAllocations()
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == args[0] })
	if i < 0 || len(args) != 2 {
		return fmt.Errorf("no row %q", args)
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return rows[i].right(rows[i].start(n), n)
}

// serveAllocations writes those of all rows. Where keys are known, memory grows with the first
// decisions only, which are not counted.
func serveAllocations() error {
	var counts []count
	for _, r := range rows {
		decide := r.start(decisions)
		if r.name != newKeyRow {
			if err := r.right(decide, decisions); err != nil {
				return err
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := r.right(decide, decisions); err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		counts = append(counts, count{
			Row:         r.name,
			Allocations: float64(after.Mallocs-before.Mallocs) / decisions,
			Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / decisions,
		})
	}
	return json.NewEncoder(os.Stdout).Encode(counts)
}

// right makes n decisions. It is an error if one of them is not as it must be.
func (r row) right(decide func(n int) (right int), n int) error {
	if right := decide(n); right != n {
		return fmt.Errorf("%s: %d of %d decisions were as they must be", r.name, right, n)
	}
	return nil
}
