//go:build !unix

package redistest

import "os"

// Nothing here stops a process; executable leaves the tests out.
var stop, proceed os.Signal
