package redistest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
)

// Ports are taken below those that systems give to outgoing connections. Else, while a server is
// dead, a client that dials its port over and over could be given that very port, and be connected to
// itself.
const firstPort, lastPort = 10_000, 32_000

// A port is a TCP port of the loopback interface that belongs to this process until it is closed,
// even while nobody listens on it. What tells other processes that run these tests is a UDP socket
// with the same number: it goes away with the process, and needs no file.
type port struct {
	number int
	claim  io.Closer
}

func (p port) addr() string { return loopback(p.number) }
func (p port) Close() error { return p.claim.Close() }

func loopback(number int) string { return fmt.Sprintf("127.0.0.1:%d", number) }

// claimPort finds a port on which nobody listens. A stranger may still come to do so at any time; a
// server that then can't listen ends at once, and is started again on another.
func claimPort() (port, error) {
	for range 1000 {
		n := firstPort + rand.N(lastPort-firstPort)
		claim, err := net.ListenPacket("udp4", loopback(n))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp4", loopback(n))
		if err == nil {
			return port{n, claim}, l.Close()
		}
		claim.Close()
	}
	return port{}, errors.New("no free port found in 1000 tries")
}
