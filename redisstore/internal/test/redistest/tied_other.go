//go:build !linux

package redistest

import "os/exec"

// startTied starts cmd. Only Linux can tie it to the end of this process.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }
