package iolimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/weir-go/weir/internal/outlive"
)

// Conn is a [net.Conn] that reads and writes no faster than its limits allow. [NewConn] makes it.
// It is safe for concurrent use. Concurrent Writes follow each other, and their bytes do not mix.
//
// It has no ReadFrom and no WriteTo. io.Copy therefore cannot bypass its limits.
type Conn struct {
	conn net.Conn

	// The locks are channels with room for one value. A call can stop waiting for a channel, and a
	// testing/synctest bubble knows such a wait.
	reading, writing chan struct{}

	// These are held while a deadline is set here and in conn. Of two calls, the later wins in both.
	settingRead, settingWrite chan struct{}

	in         reader // guarded by reading
	out        writer // guarded by writing
	readUntil  deadline
	writeUntil deadline
}

var _ net.Conn = (*Conn)(nil)

// NewConn returns a connection over c. Bytes that are read count against the limits in read. Bytes
// that are written count against the limits in write. Both slices may be empty. Both may contain
// the same limit, which then counts the bytes of both directions.
//
// c must be a stream, such as a TCP connection. On a connection of datagrams, a Write of more than
// one chunk would send several datagrams.
func NewConn(c net.Conn, read, write []Limit) *Conn {
	held := func() chan struct{} { return make(chan struct{}, 1) }
	l := &Conn{conn: c, reading: held(), writing: held(), settingRead: held(), settingWrite: held()}
	l.in, l.out = newReader(c, read, l.readUntil.context), newWriter(c, write, l.writeUntil.context)
	return l
}

// Read implements [net.Conn]. It counts bytes in the same way as [Reader.Read].
//
// A wait for the limits ends with [os.ErrDeadlineExceeded] at the read deadline, even if that is
// set during the wait. It ends with [net.ErrClosed] when the Conn is closed. Both errors are
// wrapped in a [*net.OpError], as are the errors of the limiters. After a later deadline is set,
// the next calls of Read return the bytes that have waited. An empty p is passed on to the
// underlying connection, and counts nothing.
func (c *Conn) Read(p []byte) (n int, err error) {
	if len(p) == 0 { // a closed connection is an error, and TLS makes its handshake
		return c.conn.Read(p)
	}
	ctx := c.readUntil.context()
	if err := lock(ctx, c.reading); err != nil {
		return 0, c.waitError(ctx, "read", err)
	}
	defer func() { <-c.reading }()
	n, wait, err := c.in.read(p)
	if err != nil && wait != nil {
		err = c.waitError(wait, "read", err)
	}
	return n, err
}

// Write implements [net.Conn]. It counts bytes in the same way as [Writer.Write]. A wait ends in
// the same cases as a wait of [Conn.Read], but at the write deadline. Write then returns the number
// of bytes that were written before.
func (c *Conn) Write(p []byte) (n int, err error) {
	ctx := c.writeUntil.context()
	if err := lock(ctx, c.writing); err != nil {
		return 0, c.waitError(ctx, "write", err)
	}
	defer func() { <-c.writing }()
	n, wait, err := c.out.write(p)
	if err != nil && wait != nil {
		err = c.waitError(wait, "write", err)
	}
	return n, err
}

// lock takes a lock that is a channel with room for one value, unless ctx ends before.
func lock(ctx context.Context, held chan<- struct{}) error {
	select {
	case held <- struct{}{}: // even if ctx has ended: an empty buffer needs no wait
		return nil
	default:
	}
	select {
	case held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitError returns the error of a wait in the form that package net uses.
func (c *Conn) waitError(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		if err = context.Cause(ctx); err == outlive.ErrDeadline {
			err = os.ErrDeadlineExceeded
		}
	}
	wrapped := &net.OpError{Op: op, Source: c.conn.LocalAddr(), Addr: c.conn.RemoteAddr(), Err: err}
	if wrapped.Source != nil {
		wrapped.Net = wrapped.Source.Network()
	}
	return wrapped
}

// Close implements [net.Conn]. It ends the waits of Read and Write.
func (c *Conn) Close() error {
	c.readUntil.close()
	c.writeUntil.close()
	return c.conn.Close()
}

// CloseWrite calls the method CloseWrite of the underlying connection, such as a [*net.TCPConn]. If
// the connection has no such method, the error wraps [errors.ErrUnsupported].
func (c *Conn) CloseWrite() error {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("weir: CloseWrite of a %T: %w", c.conn, errors.ErrUnsupported)
}

// NetConn returns the underlying connection. What you read and write there directly is not limited.
func (c *Conn) NetConn() net.Conn { return c.conn }

// LocalAddr implements [net.Conn].
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr implements [net.Conn].
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline implements [net.Conn]. The deadline also ends waits for the limits, even if they have
// begun.
func (c *Conn) SetDeadline(t time.Time) error {
	c.settingRead <- struct{}{}
	defer func() { <-c.settingRead }()
	c.settingWrite <- struct{}{}
	defer func() { <-c.settingWrite }()
	c.readUntil.set(t)
	c.writeUntil.set(t)
	return c.conn.SetDeadline(t)
}

// SetReadDeadline implements [net.Conn]. The deadline also ends waits of Read, even if they have
// begun.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.settingRead <- struct{}{}
	defer func() { <-c.settingRead }()
	c.readUntil.set(t)
	return c.conn.SetReadDeadline(t)
}

// SetWriteDeadline implements [net.Conn]. The deadline also ends waits of Write, even if they have
// begun.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.settingWrite <- struct{}{}
	defer func() { <-c.settingWrite }()
	c.writeUntil.set(t)
	return c.conn.SetWriteDeadline(t)
}
