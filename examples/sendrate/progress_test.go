package main

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func workersWith(sent ...int64) []*worker {
	var ws []*worker
	for i, n := range sent {
		w := &worker{name: policyNames[i]}
		w.sent.Store(n)
		ws = append(ws, w)
	}
	return ws
}

// shown is what is shown in so long a run.
func shown(t *testing.T, width int, run time.Duration) string {
	var b bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(run, func() { close(stop) })
		showProgress(&b, width, time.Now(), workersWith(70, 8), stop)
	})
	return b.String()
}

func TestProgressInALog(t *testing.T) {
	assert.Empty(t, shown(t, 0, 9*time.Second))
	assert.Equal(t, "10.0 s: token-bucket 70, leaky-bucket 8\n20.0 s: token-bucket 70, leaky-bucket 8\n", shown(t, 0, 25*time.Second))
}

// On a terminal it is one line, which is cut to its width and goes at the end.
func TestProgressOnATerminal(t *testing.T) {
	assert.Equal(t, "\r0.2 s: token-bucket 70, leaky-bucket 8\x1b[K\r0.5 s: token-bucket 70, leaky-bucket 8\x1b[K\r\x1b[K",
		shown(t, 80, 600*time.Millisecond))
	assert.Equal(t, "\r0.2 s: tok\x1b[K\r\x1b[K", shown(t, 11, 300*time.Millisecond))
}

func TestTerminalWidth(t *testing.T) {
	assert.Zero(t, terminalWidth(new(bytes.Buffer)))
	null, err := os.Open(os.DevNull)
	assert.NoError(t, err)
	defer null.Close()
	assert.Zero(t, terminalWidth(null))
}
