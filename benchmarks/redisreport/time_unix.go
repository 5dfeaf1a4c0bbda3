//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // does not fail for this process
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
