//go:build unix

package faultproxy

import (
	"net"
	"syscall"
)

// shutDown lets a listener refuse from now on, even if another process has its socket open, too.
// That is the case while this process starts a program: until the child begins that program, it has
// all that is open here, and a client would be connected to a socket that nobody reads.
func shutDown(l net.Listener) {
	if conn, err := l.(*net.TCPListener).SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
}
