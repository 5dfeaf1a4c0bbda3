package faultproxy

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A conn is a client's connection, and the one to the server that belongs to it.
type conn struct {
	client, server *net.TCPConn
	losing         atomic.Bool // nothing more is passed back to the client
}

// cut ends both connections. The client sees a reset.
func (c *conn) cut() {
	_ = c.client.SetLinger(0) // an error: it is closed
	c.close()
}

func (c *conn) close() {
	_ = c.client.Close() // an error: it is closed
	_ = c.server.Close()
}

func (p *Proxy) serve(l net.Listener, client *net.TCPConn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close() // as a server does that is about to end
		return
	}
	c := &conn{client: client, server: server.(*net.TCPConn)}
	defer c.close()
	p.mu.Lock()
	refused := p.listener != l
	if !refused {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if refused {
		c.cut()
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}()
	p.running.Go(func() { p.passRequests(c) })
	p.passReplies(c)
	if c.losing.Load() {
		c.cut()
	}
}

const (
	atMost  = 64 << 10 // what is read at once of requests
	longest = 1 << 30  // of a request
)

// passRequests passes on what the client sends, request by request.
func (p *Proxy) passRequests(c *conn) {
	var fault error
	requests := bufio.NewScanner(c.client)
	requests.Buffer(make([]byte, atMost), longest)
	requests.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, token, err := p.split(data, atEOF)
		if !atEOF { // at the end, a request may be cut off
			fault = err
		}
		return advance, token, err
	})
	for requests.Scan() {
		p.pass()
		if p.hangs() {
			_, _ = io.Copy(io.Discard, c.client) // until the client closes it
			c.close()
			return
		}
		if p.isLost(requests.Bytes()) {
			c.losing.Store(true)
		}
		if _, err := c.server.Write(requests.Bytes()); err != nil {
			c.cut()
			return
		}
		if c.losing.Load() {
			break
		}
	}
	switch {
	case fault != nil:
		p.tb.Errorf("faultproxy: no request: %v", fault)
		c.cut()
	case requests.Err() != nil:
		c.cut()
	default:
		// The server reads the end of the stream after the last request. It has executed that
		// request when it closes the connection, which ends passReplies.
		_ = c.server.CloseWrite()
	}
}

// passReplies passes on what the server sends, in pieces as they come.
func (p *Proxy) passReplies(c *conn) {
	type piece struct {
		lag
		from  time.Time
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
			b.wait(b.from)
			if _, err := c.client.Write(b.bytes); err != nil {
				c.cut() // which ends the loop below
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
		pieces <- piece{p.pass(), time.Now(), buf[:n]}
	}
}

// pass waits while the Proxy stalls. Then it returns how long a reply is to be delayed.
func (p *Proxy) pass() lag {
	for {
		p.mu.Lock()
		stalled, lag := p.stalled, p.lag
		p.mu.Unlock()
		if stalled == nil {
			return lag
		}
		<-stalled
	}
}

// A lag is how long replies are delayed: until ended is closed, at most.
type lag struct {
	time.Duration
	ended chan struct{}
}

// wait waits until the delay has passed since the instant from, or has ended.
func (l lag) wait(from time.Time) {
	if l.Duration <= 0 {
		return
	}
	timer := time.NewTimer(time.Until(from.Add(l.Duration)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ended:
	}
}

// end ends the delay, also for replies that are held back now.
func (l *lag) end() {
	if l.ended != nil {
		close(l.ended)
	}
	*l = lag{}
}

// hangs reports whether a connection is to hang, and counts it.
func (p *Proxy) hangs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hang == 0 {
		return false
	}
	p.hang--
	p.hung++
	return true
}

// isLost reports whether the reply to the request is to be lost, and counts it.
func (p *Proxy) isLost(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == 0 || p.loses != nil && !p.loses(request) {
		return false
	}
	p.lose--
	p.lost++
	return true
}
