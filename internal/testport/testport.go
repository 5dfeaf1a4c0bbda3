// Package testport finds ports for the servers and proxies of tests. A port stays with the process
// that claimed it while nobody listens on it, so that a server can be stopped and started again on
// the same port. Only tests, and packages for tests, import it.
package testport

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
)

// Ports are below those that systems usually give to outgoing connections. Otherwise, while a
// server is stopped, a client that dials its port again and again could be given that very port,
// and be connected to itself.
const firstPort, lastPort = 10_000, 32_000

// A Port is a TCP port of the loopback interface. Until it is closed, no other process that uses
// this package gets it. A UDP socket with the same number is the claim: it goes away with the
// process, and needs no file.
type Port struct {
	Number int
	claim  io.Closer
}

// Addr returns the host and the port.
func (p Port) Addr() string { return addr(p.Number) }

// Close gives the port back. It does nothing for the zero Port.
func (p Port) Close() error {
	if p.claim == nil {
		return nil
	}
	return p.claim.Close()
}

func addr(number int) string { return fmt.Sprintf("127.0.0.1:%d", number) }

// Claim returns a port on which nobody listens. Programs that do not use this package may still
// take it at any time. A server that then cannot listen must try another.
func Claim() (Port, error) {
	for range 1000 {
		n := firstPort + rand.N(lastPort-firstPort)
		claim, err := net.ListenPacket("udp4", addr(n))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp4", addr(n))
		if err == nil {
			return Port{n, claim}, l.Close()
		}
		claim.Close()
	}
	return Port{}, errors.New("no free port found in 1000 tries")
}
