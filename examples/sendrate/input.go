package main

import (
	"bytes"
	"context"
	"io"
	"strconv"
)

// An input is the lines to send. A line stays in it until it is sent, so that [input.rest] has
// all those that are not.
//
// A goroutine reads ahead by one chunk, because nobody can call back a read from a terminal or a
// pipe when an interrupt comes.
type input struct {
	chunks chan chunk
	closed chan struct{}

	finite  bool   // it ends by itself, and soon: a file, or generated lines
	pending []byte // read, and not sent
	line    int    // the length of the line at the front of pending, if known
	err     error  // why nothing more can be read: io.EOF, or a fault
}

type chunk struct {
	data []byte
	err  error
}

const chunkSize = 64 << 10

func newInput(r io.Reader, finite bool) *input {
	in := &input{chunks: make(chan chunk), closed: make(chan struct{}), finite: finite}
	go in.readFrom(r)
	return in
}

func (in *input) readFrom(r io.Reader) {
	buf := make([]byte, chunkSize)
	for {
		n, err := r.Read(buf)
		select {
		case in.chunks <- chunk{bytes.Clone(buf[:n]), err}: // as small as what a slow pipe gives
		case <-in.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// close ends the goroutine, unless it is in a read that does not return.
func (in *input) close() { close(in.closed) }

// peek returns the next line with its newline, which the last one may lack. It is valid until
// [input.advance]. The error is io.EOF after the last line, why ctx ended, or the fault of a
// read; what was read of a line before a fault is not a line.
func (in *input) peek(ctx context.Context) ([]byte, error) {
	for searched := 0; ; {
		if i := bytes.IndexByte(in.pending[searched:], '\n'); i >= 0 {
			in.line = searched + i + 1
			return in.pending[:in.line], nil
		}
		searched = len(in.pending)
		switch {
		case in.err == io.EOF && searched > 0:
			in.line = searched
			return in.pending, nil
		case in.err != nil:
			return nil, in.err
		}
		select {
		case c := <-in.chunks:
			in.take(c)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// advance goes on to the next line, because the one that was peeked is sent.
func (in *input) advance() {
	in.pending = in.pending[in.line:]
	in.line = 0
}

func (in *input) take(c chunk) {
	if len(in.pending) == 0 {
		in.pending = c.data // without copying
	} else {
		in.pending = append(in.pending, c.data...)
	}
	in.err = c.err
}

// rest writes to w the lines that are not sent, as they stand in the input, and returns their
// number. A last line without its end counts. Of an input that does not end, it writes only the
// lines that have been read by now.
func (in *input) rest(w io.Writer) (lines int, err error) {
	ended := true
	for {
		if len(in.pending) > 0 {
			lines += bytes.Count(in.pending, []byte("\n"))
			ended = in.pending[len(in.pending)-1] == '\n'
			if _, werr := w.Write(in.pending); werr != nil && err == nil {
				err = werr // but go on counting
			}
			in.pending = nil
		}
		if !in.takeMore() {
			break
		}
	}
	if !ended {
		lines++
	}
	if err == nil && in.err != io.EOF {
		err = in.err
	}
	return lines, err
}

// takeMore takes the next chunk, waiting for it only if the input is finite.
func (in *input) takeMore() bool {
	if in.err != nil {
		return false
	}
	if in.finite {
		in.take(<-in.chunks)
		return true
	}
	select {
	case c := <-in.chunks:
		in.take(c)
		return true
	default:
		return false
	}
}

// generated reads as n lines: "line 1" to "line n".
type generated struct {
	n, next int
	buf     []byte // of a line that is read in part
}

func generate(n int) io.Reader { return &generated{n: n, next: 1} }

func (g *generated) Read(p []byte) (int, error) {
	read := 0
	for read < len(p) {
		if len(g.buf) == 0 {
			if g.next > g.n {
				if read == 0 {
					return 0, io.EOF
				}
				break
			}
			g.buf = append(strconv.AppendInt([]byte("line "), int64(g.next), 10), '\n')
			g.next++
		}
		n := copy(p[read:], g.buf)
		g.buf = g.buf[n:]
		read += n
	}
	return read, nil
}
