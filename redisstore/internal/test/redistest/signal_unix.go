//go:build unix

package redistest

import (
	"os"
	"syscall"
)

// The signals that stop a process and let it go on.
var stop, proceed os.Signal = syscall.SIGSTOP, syscall.SIGCONT
