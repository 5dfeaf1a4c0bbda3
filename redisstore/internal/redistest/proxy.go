package redistest

import (
	"bufio"
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	running  sync.WaitGroup
}

// A proxied is a client's connection, and the one to the server that belongs to it.
type proxied struct {
	client, server *net.TCPConn
	losing         atomic.Bool // nothing is passed back to the client any more
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

func (p *Proxy) serve(l net.Listener, client *net.TCPConn) {
	server, err := net.Dial("tcp4", p.target)
	if err != nil {
		client.Close()
		return
	}
	c := &proxied{client: client, server: server.(*net.TCPConn)}
	defer c.close()
	p.mu.Lock()
	refused := p.listener != l
	if !refused {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if refused {
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}()
	p.running.Go(func() { p.passCommands(c) })
	p.passReplies(c)
}

// passCommands passes on what the client sends, command by command.
func (p *Proxy) passCommands(c *proxied) {
	r := bufio.NewReader(c.client)
	for {
		command, err := readCommand(r)
		if err != nil {
			c.close()
			return
		}
		p.pass()
		if p.isLost(command) {
			c.losing.Store(true)
		}
		if _, err := c.server.Write(appendCommand(nil, command)); err != nil {
			c.close()
			return
		}
		if c.losing.Load() {
			// The server reads the end of the stream after the command, and so has executed it when it
			// closes the connection, which ends passReplies.
			_ = c.server.CloseWrite()
			return
		}
	}
}

// passReplies passes on what the server sends, in pieces as they come.
func (p *Proxy) passReplies(c *proxied) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		if c.losing.Load() {
			continue
		}
		time.Sleep(p.pass())
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// pass returns when nothing stalls, with how long a reply is to be delayed.
func (p *Proxy) pass() time.Duration {
	for {
		p.mu.Lock()
		stalled, delay := p.stalled, p.delay
		p.mu.Unlock()
		if stalled == nil {
			return delay
		}
		<-stalled
	}
}

// isLost reports whether the reply to the command is to be lost, and counts it.
func (p *Proxy) isLost(command []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == 0 || !p.loses(command) {
		return false
	}
	p.lose--
	p.lost++
	return true
}

// close cuts both connections. The client sees a reset.
func (c *proxied) close() {
	_ = c.client.SetLinger(0) // an error: it is closed
	c.client.Close()
	c.server.Close()
}
