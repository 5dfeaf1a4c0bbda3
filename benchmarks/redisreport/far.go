package main

import (
	"net"
	"sync"
	"time"
)

// A link is a way to a server on which each reply takes so much longer. However much is on its way,
// nothing waits for what was sent before.
type link struct {
	net.Listener
	target string
	delay  time.Duration
	conns  sync.Map // of net.Conn
}

func newLink(target string, delay time.Duration) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{Listener: listener, target: target, delay: delay}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go l.serve(client)
		}
	}()
	return l, nil
}

// Close ends all connections as well.
func (l *link) Close() error {
	err := l.Listener.Close()
	l.conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
	return err
}

// A piece is what came from the server at once.
type piece struct {
	due   time.Time
	bytes []byte
}

func (l *link) serve(client net.Conn) {
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		client.Close()
		return
	}
	l.conns.Store(client, nil)
	defer l.conns.Delete(client)
	late := make(chan piece, 10_000)
	go func() {
		defer client.Close()
		for p := range late {
			time.Sleep(time.Until(p.due))
			if _, err := client.Write(p.bytes); err != nil {
				break
			}
		}
		for range late { // until the server has heard that the client is gone
		}
	}()
	go func() {
		defer server.Close()
		pass(client, func(b []byte) error { _, err := server.Write(b); return err })
	}()
	pass(server, func(b []byte) error {
		late <- piece{time.Now().Add(l.delay), append([]byte(nil), b...)}
		return nil
	})
	close(late)
}

// pass hands on what comes from a connection, until its end.
func pass(from net.Conn, to func([]byte) error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || to(buf[:n]) != nil {
			return
		}
	}
}
