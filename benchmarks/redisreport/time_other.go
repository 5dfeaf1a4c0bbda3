//go:build !unix

package main

import "time"

// processTime is not known here. Redis does not run on these systems, either.
func processTime() time.Duration { return 0 }
