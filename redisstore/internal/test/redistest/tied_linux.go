package redistest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startTied starts cmd such that it is killed when this process ends, even by a panic or a signal.
//
// What the kernel ties a child to is the thread that started it. So one thread starts them all, and
// it is never given back to the scheduler, which might end it.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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
