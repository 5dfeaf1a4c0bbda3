//go:build !linux

package tied

import "os/exec"

// Start starts cmd. Only Linux can tie it to the end of this process.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
