//go:build !linux

package pgtest

import (
	"os/exec"

	"github.com/weir-go/weir/internal/test/tied"
)

// An account is the user that programs of PostgreSQL run as. Here it is that of this process.
type account struct{}

func findAccount() (*account, error) { return nil, nil }

func (*account) own(string) error { return nil }

func (*account) start(cmd *exec.Cmd) error { return tied.Start(cmd) }
