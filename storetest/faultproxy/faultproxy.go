// Package faultproxy breaks the network between a client and its server, in tests. A [Proxy] stands
// in front of a real server on TCP. It passes everything on until the test causes a fault:
//
//   - [Proxy.Stall]: no bytes pass, as when the server hangs.
//   - [Proxy.Refuse]: all connections are cut, and new ones are refused, as if the server were down.
//   - [Proxy.LoseReplies]: the server executes a request, and the client gets no reply.
//   - [Proxy.Hang]: single connections of a pool no longer answer.
//   - [Proxy.Delay]: every reply comes later, as from a distant server.
//
// [Proxy.Forward] ends all faults, except on connections that already hang or lose a reply. Use the
// real server: after a fault, an imitation may act differently.
//
// The package knows no protocol. By default, it treats the bytes of each read as one request. That
// suits clients that send a request of up to 32 KiB in one write, and then wait for its reply. For
// pipelines and larger requests, pass a function to [New] that finds the end of a request.
//
// Use it for the options LostReplies and Hangs of package [github.com/weir-go/weir/storetest].
package faultproxy

import (
	"bufio"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/testport"
)

// A Proxy stands in front of a server. Make one with [New]. All methods are safe for concurrent
// use.
type Proxy struct {
	tb     testing.TB
	target string
	split  bufio.SplitFunc
	port   testport.Port

	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while it refuses, and at the end
	conns    map[*conn]struct{}
	stalled  chan struct{} // closed when it no longer stalls; nil if it does not
	lag      lag
	lose     int                       // how many replies to lose
	loses    func(request []byte) bool // which; nil for all
	lost     int
	hang     int // how many connections are to hang
	hung     int
}

// New starts a Proxy on a free port of the loopback interface, in front of the server at the
// address target. The Proxy is closed at the end of the test.
//
// split divides what a client sends into requests. The Proxy passes on only the tokens that split
// returns: together, they must be all that was sent. An error of split fails the test, unless the
// client has closed the connection: its last request may be cut off. If split is nil, the Proxy
// treats the bytes of each read as one request.
func New(tb testing.TB, target string, split bufio.SplitFunc) *Proxy {
	tb.Helper()
	if split == nil {
		split = atOnce
	}
	p := &Proxy{tb: tb, target: target, split: split, conns: map[*conn]struct{}{}}
	for try := 1; ; try++ {
		var err error
		if p.port, err = testport.Claim(); err == nil {
			if err = p.listen(); err == nil {
				break
			}
			_ = p.port.Close() // another one is claimed
		}
		if try == 5 {
			tb.Fatalf("faultproxy: %v", err)
		}
	}
	tb.Cleanup(func() {
		p.Forward()
		p.Refuse()
		p.running.Wait()
		_ = p.port.Close() // it is a socket that nobody reads
	})
	return p
}

// atOnce is a bufio.SplitFunc that returns all the data as one token.
func atOnce(data []byte, _ bool) (advance int, token []byte, err error) {
	if len(data) == 0 {
		return 0, nil, nil
	}
	return len(data), data, nil
}

// Addr returns the host and the port at which clients find the Proxy. The address stays the same.
func (p *Proxy) Addr() string { return p.port.Addr() }

// Target returns the address of the server, as it was passed to [New].
func (p *Proxy) Target() string { return p.target }

// Forward ends all faults, except on connections that already hang or lose a reply. Bytes that were
// kept back during a stall or by a delay are passed on now.
func (p *Proxy) Forward() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag.end()
	p.lose, p.hang = 0, 0
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
	if p.listener != nil {
		return
	}
	if err := p.listen(); err != nil {
		p.tb.Errorf("faultproxy: cannot listen again: %v", err)
	}
}

// Stall makes the Proxy keep back all bytes in both directions, until [Proxy.Forward] passes them
// on. New connections are still accepted. A reply that the Proxy already holds because of
// [Proxy.Delay] is still passed on at the end of its delay.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Refuse cuts all connections and refuses new ones, until [Proxy.Forward].
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	shutDown(p.listener)
	_ = p.listener.Close() // it no longer accepts, whatever the error
	p.listener = nil
	for c := range p.conns {
		c.cut()
	}
}

// Delay delays each reply by d, until [Proxy.Forward]. The delays of several replies overlap, as on
// a connection to a distant server.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lag.Duration = d; p.lag.ended == nil {
		p.lag.ended = make(chan struct{})
	}
}

// LoseReplies loses the replies to the next n requests for which match returns true, or to the next
// n if match is nil. The server gets such a request, and then EOF. When it has executed the request
// and closed the connection, the client's connection is cut. In a pipeline, the replies to earlier
// requests may be lost, too, and the server does not get later requests. A later call of
// LoseReplies replaces an earlier one. With n = 0, no further replies are lost.
//
// The server must execute what it has received before it closes a connection. Redis, memcached and
// PostgreSQL do.
//
// match is called for one request at a time. It must not keep or change the bytes, or call methods
// of the Proxy.
func (p *Proxy) LoseReplies(n int, match func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.loses = n, match
}

// Lost returns for how many requests [Proxy.LoseReplies] has lost the reply since [New]. A request
// counts just before the server gets it.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Hang makes n connections hang: the next n on which a request comes. Each of them hangs until the
// client or the server closes it, or [Proxy.Refuse] cuts it. The server does not get that request,
// and the client gets no reply. A later call of Hang replaces an earlier one. With n = 0, no
// further connections begin to hang.
func (p *Proxy) Hang(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = n
}

// Hung returns how many connections have started to hang since [New].
func (p *Proxy) Hung() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hung
}

// listen requires that p.mu is held, or that p is not shared yet.
func (p *Proxy) listen() error {
	l, err := net.Listen("tcp4", p.port.Addr())
	if err != nil {
		return err
	}
	p.listener = l
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(l, client.(*net.TCPConn)) })
		}
	})
	return nil
}
