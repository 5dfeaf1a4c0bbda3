package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spans is the histogram that has, for each pair, so many tenths of so many lines.
func spans(pairs ...int) histogram {
	var h histogram
	for i := 0; i < len(pairs); i += 2 {
		for range pairs[i] {
			h = append(h, pairs[i+1])
		}
	}
	return h
}

// sendAll is what the program does between its flags and its report. It must be called in a bubble.
func sendAll(t *testing.T, args string) *results {
	t.Helper()
	o := parsed(t, strings.Fields(args)...)
	f, err := o.open(nil, io.Discard)
	require.NoError(t, err)
	workers, errs := o.send(context.Background(), f, io.Discard)
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, f.close())
	return o.results(workers)
}

// In virtual time the lines of each tenth of a second are known exactly.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		args string
		want histogram
		took time.Duration
	}{
		// 50 lines, as fast as 20 a second allows: spread evenly, one each 50 ms.
		{"-policy token-bucket", spans(1, 20+1, 14, 2, 1, 1), 1500 * time.Millisecond},
		{"-policy token-bucket -burst 1", spans(25, 2), 2450 * time.Millisecond},
		{"-policy leaky-bucket", spans(25, 2), 2450 * time.Millisecond},
		{"-policy fixed-window", spans(1, 20, 9, 0, 1, 20, 9, 0, 1, 10), 2 * time.Second},
		{"-policy fixed-window -from-first", spans(1, 20, 9, 0, 1, 20, 9, 0, 1, 10), 2 * time.Second},
		{"-policy sliding-log", spans(1, 20, 9, 0, 1, 20, 9, 0, 1, 10), 2 * time.Second},
		// The first window is used up at once. While it leaves, a line goes each 50 ms, 1 ns late.
		{"-policy sliding-window", spans(1, 20, 9, 0, 15, 2), 2450*time.Millisecond + 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := sendAll(t, c.args+" -lines 50 -rate 20").policies[0]
				assert.Equal(t, c.want, got.tenths)
				assert.Equal(t, c.took, got.took)
				assert.Equal(t, 50, got.sent)
			})
		})
	}
}

// A rate that no whole number of nanoseconds divides is kept for an hour: 7 a second, to the line.
func TestRateDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lines = 7*3600 + 1
		got := sendAll(t, fmt.Sprintf("-policy leaky-bucket -rate 7 -lines %d", lines)).policies[0]
		assert.Equal(t, time.Hour, got.took)
	})
}

// The output is the input, in order and byte for byte, under every policy.
func TestInputIsOutput(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000) // 200 kB
	text := "first\n\n" + long + "\r\n" + string(linesTo(300)) + "no newline at the end"
	for _, name := range policyNames {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, report, stderr bytes.Buffer
				w := newTestWorker(name, strings.NewReader(text), &out)
				require.NoError(t, w.run(t.Context()))
				w.in.close()
				assert.True(t, text == out.String(), "the output differs from the input")
				assert.EqualValues(t, 304, w.sent.Load())

				out.Reset()
				code := run(t.Context(), []string{"-policy", name, "-rate", "50", "-out", "-"}, strings.NewReader(text), &out, &report)
				assert.Equal(t, exitSent, code)
				assert.True(t, text == out.String(), "the output differs from the input")
				assert.Contains(t, report.String(), name+": 304 lines in ")
				assert.Empty(t, stderr.String())
			})
		})
	}
}

func newTestWorker(policy string, r io.Reader, out io.Writer) *worker {
	o := options{rate: 50, per: time.Second}
	return o.newWorker(policy, newInput(r, true), out, time.Now())
}

// A line that can't be written, those after it, and no other are left.
func TestWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWorker("token-bucket", bytes.NewReader(linesTo(10)), &fullAfter{lines: 4})
		defer w.in.close()
		err := w.run(t.Context())
		assert.ErrorIs(t, err, errFull)
		assert.ErrorContains(t, err, "sending line 5: ")
		assert.EqualValues(t, 4, w.sent.Load())

		var left, stderr bytes.Buffer
		assert.Equal(t, exitFailed, w.tell(&stderr, err, &left))
		assert.Equal(t, "line 5\nline 6\nline 7\nline 8\nline 9\nline 10\n", left.String())
		assert.Equal(t, "sendrate: token-bucket: sending line 5: no space left: 4 lines sent, 6 left unsent\n", stderr.String())
	})
}

type fullAfter struct{ lines int }

func (f *fullAfter) Write(p []byte) (int, error) {
	if f.lines == 0 {
		return 0, errFull
	}
	f.lines--
	return len(p), nil
}

// A read error ends the run, and all that was read before it is sent.
func TestReadError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := errors.New("the disk is on fire")
		stdin := io.MultiReader(bytes.NewReader(linesTo(60)), strings.NewReader("hal"), iotest.ErrReader(fault))
		var out, stderr bytes.Buffer
		code := run(t.Context(), []string{"-rate", "10", "-out", "-"}, stdin, &out, &stderr)
		assert.Equal(t, exitFailed, code)
		assert.Equal(t, string(linesTo(60)), out.String())
		assert.Contains(t, stderr.String(), "sendrate: token-bucket: the disk is on fire: 60 lines sent, 1 read and left unsent\n")
	})
}

// An interrupt ends the run wherever the worker waits: for its turn, for the input, in an outage.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		name, args string
		sent       int // of 100
	}{
		{"waiting for its turn", "-policy leaky-bucket -rate 1", 4},
		{"in an outage", "-policy leaky-bucket -rate 10 -outage 3s", 31},
		{"waiting for the input to offer more", "-offer 1", 4},
		{"before the start, on the next second", "-policy all", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(3500*time.Millisecond, func() { cancel(interruption{syscall.SIGINT}) })
				if strings.Contains(c.args, all) {
					time.Sleep(3100 * time.Millisecond)
				}
				var stdout, stderr bytes.Buffer
				code := run(ctx, strings.Fields(c.args+" -lines 100"), nil, &stdout, &stderr)
				assert.Equal(t, 130, code)
				assert.Contains(t, stderr.String(), fmt.Sprintf("interrupt: %d lines sent, %d left unsent\n", c.sent, 100-c.sent))
				assert.Contains(t, stdout.String(), fmt.Sprintf(": %d lines in ", c.sent))
			})
		})
	}
}
