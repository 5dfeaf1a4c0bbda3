//go:build !linux

package pgtest

import "os/exec"

// An account is the user that programs of PostgreSQL run as. Here it is that of this process.
type account struct{}

func findAccount() (*account, error) { return nil, nil }

func (*account) own(string) error { return nil }

// start starts cmd. Only Linux can tie it to the end of this process.
func (*account) start(cmd *exec.Cmd) error { return cmd.Start() }
