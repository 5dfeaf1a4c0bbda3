package redistest

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A proxied is a client's connection, and the one to the server that belongs to it.
type proxied struct {
	client, server *net.TCPConn
	losing         atomic.Bool // nothing is passed back to the client any more
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
		if p.hangs() {
			_, _ = io.Copy(io.Discard, r)
			c.close()
			return
		}
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

// passReplies passes on what the server sends, in pieces as they come. A piece that is delayed holds up no other,
// as on a long way.
func (p *Proxy) passReplies(c *proxied) {
	type piece struct {
		due   time.Time
		bytes []byte
	}
	pieces, passed := make(chan piece, 1000), make(chan struct{})
	defer func() {
		close(pieces)
		<-passed
	}()
	p.running.Go(func() {
		defer close(passed)
		for b := range pieces {
			time.Sleep(time.Until(b.due))
			if _, err := c.client.Write(b.bytes); err != nil {
				c.close() // and so the server's end comes
			}
		}
	})
	for {
		buf := make([]byte, 16<<10)
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		if c.losing.Load() {
			continue
		}
		delay := p.pass()
		pieces <- piece{time.Now().Add(delay), buf[:n]}
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
