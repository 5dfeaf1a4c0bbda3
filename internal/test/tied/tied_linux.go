package tied

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts cmd. The command is killed when this process ends, even by a panic or a signal.
//
// The kernel ties a child to the thread that started it. One thread therefore starts all commands.
// It is never given back to the scheduler, which might end it.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	return <-result
}

var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})
