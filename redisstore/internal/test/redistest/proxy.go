package redistest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Proxy stands before a server and passes on what clients send, and what they are answered, until
// it is told to do otherwise. All its methods are safe for concurrent use.
type Proxy struct {
	tb     testing.TB
	target string
	port   port

	mu       sync.Mutex
	listener net.Listener // nil while it refuses, and at the end
	conns    map[*proxied]struct{}
	stalled  chan struct{} // closed when it no longer stalls; nil if it does not
	delay    time.Duration
	lose     int                         // how many replies to lose
	loses    func(command []string) bool // which
	lost     int
	hang     int // how many connections are to hang
	running  sync.WaitGroup
}

// NewProxy starts a proxy before the server with the address.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{tb: tb, target: target, conns: map[*proxied]struct{}{}}
	for try := 1; ; try++ {
		var err error
		if p.port, err = claimPort(); err == nil {
			if err = p.listen(); err == nil {
				break
			}
			p.port.Close()
		}
		if try == 5 {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		p.Forward()
		p.Refuse()
		p.running.Wait()
		p.port.Close()
	})
	return p
}

// Addr is where clients find the proxy.
func (p *Proxy) Addr() string { return p.port.addr() }

// Forward ends all faults.
func (p *Proxy) Forward() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.lose = 0, 0
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
	if p.listener != nil {
		return
	}
	if err := p.listen(); err != nil {
		p.tb.Error(err)
	}
}

// Stall lets connections be made, and passes on nothing until Forward, as a network does that loses
// all packets. What was sent meanwhile arrives then.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Refuse cuts all connections and refuses new ones until Forward.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	p.listener.Close()
	p.listener = nil
	for c := range p.conns {
		c.close()
	}
}

// Delay passes on each reply so much later, until Forward.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// LoseReplies cuts the connection after each of the next n commands for which match returns true. The
// server executes them, and their replies are lost. match is called for one command at a time.
func (p *Proxy) LoseReplies(n int, match func(command []string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.loses = n, match
}

// Lost is how many replies have been lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Hang has each of the next n connections on which a command comes hang, until the client closes it.
func (p *Proxy) Hang(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = n
}

// ToHang is how many connections are still to hang.
func (p *Proxy) ToHang() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hang
}

// hangs reports whether a connection is to hang, and counts it.
func (p *Proxy) hangs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hang == 0 {
		return false
	}
	p.hang--
	return true
}

// DialThrough is a dialer that goes through the proxy that stands before the address, if one does. It is for
// clients that are told the addresses of servers by servers.
func DialThrough(proxies ...*Proxy) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if i := slices.IndexFunc(proxies, func(p *Proxy) bool { return p.target == addr }); i >= 0 {
			addr = proxies[i].Addr()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}

// listen requires that mu is held, or that p is not shared yet.
func (p *Proxy) listen() error {
	l, err := net.Listen("tcp4", p.port.addr())
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
