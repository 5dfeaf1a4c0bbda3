package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// isTerminal reports whether a file is a terminal, or a device that is like one.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// openable returns the logs of the files. "-" is stdin.
func openable(files []string, stdin io.Reader, p *progress) ([]replay.Log, error) {
	var logs []replay.Log
	stdins := 0
	for _, name := range files {
		log := replay.Log{Name: name, Open: func() (io.ReadCloser, error) {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			return &counted{File: f, progress: p}, nil
		}}
		if name == "-" {
			if stdins++; stdins > 1 {
				return nil, usage("- is given twice, must be at most once")
			}
			if isTerminal(stdin) {
				return nil, usage("replay needs a FILE, or a log at its standard input")
			}
			log.Name = "standard input"
			log.Open = func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// counted counts the bytes that are read from a file, as they lie there.
type counted struct {
	*os.File
	progress *progress
	at       int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.File.Read(b)
	c.at += int64(n)
	c.progress.read.Add(int64(n))
	return n, err
}

// Seek implements [io.Seeker]. What is read again counts once.
func (c *counted) Seek(offset int64, whence int) (int64, error) {
	at, err := c.File.Seek(offset, whence)
	if err == nil {
		c.progress.read.Add(at - c.at)
		c.at = at
	}
	return at, err
}

// readOnce returns the first of the files that cannot be read several times, or "".
func readOnce(files []string) string {
	for _, name := range files {
		if name == "-" {
			return "the standard input"
		}
		info, err := os.Stat(name)
		if err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeCharDevice) != 0 {
			return name
		}
	}
	return ""
}

// progress shows on a terminal how much is read. It does nothing elsewhere.
type progress struct {
	to    io.Writer // nil if it is no terminal
	total int64     // bytes of all files; 0 if not known
	read  atomic.Int64
	next  time.Time // when it is shown again
	shown bool
}

func newProgress(to io.Writer, files []string) *progress {
	p := &progress{}
	if isTerminal(to) {
		p.to = to
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			p.total = 0
			break
		}
		p.total += info.Size()
	}
	return p
}

// show is called each few thousand requests.
func (p *progress) show(requests int) {
	now := time.Now()
	if p.to == nil || now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(time.Second/5), true
	fmt.Fprint(p.to, "\r", p.line(requests), "\x1b[K")
}

const progressWidth = 30

func (p *progress) line(requests int) string {
	line := explain.Plural(requests, "request", "requests")
	if p.total == 0 {
		return line
	}
	done := p.read.Load() % (p.total + 1) // a sweep reads the files again
	bar := make([]rune, progressWidth)
	for i := range bar {
		if bar[i] = '░'; int64(i)*p.total < done*progressWidth {
			bar[i] = '█'
		}
	}
	return fmt.Sprintf("%s %3d%%  %s", string(bar), done*100/p.total, line)
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}
