package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	progressOnTerminal = time.Second / 4
	progressElsewhere  = 10 * time.Second // in a log, an occasional line
)

// terminalWidth returns how many columns w has, or 0 if it is not a terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return noWidth
	}
	return width
}

// showProgress writes to w how many lines each worker has sent, until stop is closed. On a
// terminal, of width columns, it is a line that changes. Elsewhere it is a line now and then.
func showProgress(w io.Writer, width int, start time.Time, workers []*worker, stop <-chan struct{}) {
	every, format, end := progressElsewhere, "%s\n", ""
	if width > 0 {
		every, format, end = progressOnTerminal, "\r%s\x1b[K", "\r\x1b[K"
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	defer fmt.Fprint(w, end)
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(w, format, cut(progressLine(time.Since(start), workers), width-1))
		case <-stop:
			return
		}
	}
}

func progressLine(since time.Duration, workers []*worker) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", seconds(since))
	for i, w := range workers {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s %d", w.name, w.sent.Load())
	}
	return b.String()
}

// cut returns s, or as much of it as fits in width columns if width is above zero.
func cut(s string, width int) string {
	if width > 0 && len(s) > width {
		return s[:width]
	}
	return s
}
