package refusallog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/refusallog"
)

var ctx = context.Background()

// A written is a buffer to which handlers write lines, and which tests read.
type written struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

func (w *written) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// lines returns the lines of a JSONHandler.
func (w *written) lines(t *testing.T) (lines []map[string]any) {
	for line := range strings.Lines(w.text()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		lines = append(lines, fields)
	}
	return lines
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func newText(t *testing.T, opts refusallog.Options) (*refusallog.Log, *written) {
	w := new(written)
	l, err := refusallog.New(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: withoutTime})), "login", opts)
	require.NoError(t, err)
	return l, w
}

func newJSON(t *testing.T, opts refusallog.Options) (*refusallog.Log, *written) {
	w := new(written)
	l, err := refusallog.New(slog.New(slog.NewJSONHandler(w, nil)), "login", opts)
	require.NoError(t, err)
	return l, w
}

func wholeKey(key string) string { return key }

func TestLines(t *testing.T) {
	denial := weir.Result{Limit: 5, Remaining: 2, RetryAfter: 1500 * time.Millisecond}
	degraded, never := denial, denial
	degraded.Degraded = true
	never.RetryAfter = weir.Never
	for _, test := range []struct {
		r    weir.Refusal
		want string
	}{
		{
			weir.Refusal{Key: "ada", N: 3, Result: denial, Enforced: true},
			`level=WARN msg="request refused" limiter=login key=ada events=3 limit=5 remaining=2 retry_after=1.5s left_out=0`,
		},
		{
			weir.Refusal{Key: "ada", N: 3, Result: denial},
			`level=WARN msg="request would be refused" limiter=login key=ada events=3 limit=5 remaining=2 retry_after=1.5s left_out=0`,
		},
		{
			weir.Refusal{Key: "ada", N: 9, Result: never, Enforced: true},
			`level=WARN msg="request refused" limiter=login key=ada events=9 limit=5 remaining=2 left_out=0`,
		},
		{
			weir.Refusal{Key: "ada", N: 3, Result: degraded, Enforced: true},
			`level=WARN msg="request refused" limiter=login key=ada events=3 limit=5 remaining=2 retry_after=1.5s degraded=true left_out=0`,
		},
		{ // of Allow, which has no details
			weir.Refusal{Key: "ada", N: 1, Enforced: true},
			`level=WARN msg="request refused" limiter=login key=ada events=1 left_out=0`,
		},
		{ // of Wait
			weir.Refusal{Key: "ada", N: 1, Err: fmt.Errorf("weir: Wait for 1 events: %w", weir.ErrTooLate), Enforced: true},
			`level=WARN msg="request refused" limiter=login key=ada events=1 ` +
				`error="weir: Wait for 1 events: the turn would come after the context's deadline" left_out=0`,
		},
		{
			weir.Refusal{Key: "ada", N: 1, Err: errors.New("connection refused"), Enforced: true},
			`level=ERROR msg="request without a decision" limiter=login key=ada events=1 error="connection refused" left_out=0`,
		},
		{weir.Refusal{Key: "ada", N: 1, Err: fmt.Errorf("Take: %w", context.Canceled), Enforced: true}, ""},
		{weir.Refusal{Key: "ada", N: 1, Result: weir.Result{Allowed: true}}, ""},
	} {
		l, w := newText(t, refusallog.Options{Key: wholeKey})
		l.Refused(ctx, test.r)
		assert.Equal(t, test.want, strings.TrimSpace(w.text()))
	}
}

// A flood costs as many lines as Lines grants. Each refusal is in a line, or in a left_out.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newJSON(t, refusallog.Options{})
		for range 1000 {
			l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		}
		require.Len(t, w.lines(t), 10, "at once")

		time.Sleep(6 * time.Second) // one line more
		l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		lines := w.lines(t)
		require.Len(t, lines, 11)
		assert.Equal(t, "request refused", lines[10]["msg"])
		assert.EqualValues(t, 990, lines[10]["left_out"])

		time.Sleep(time.Hour)
		lines = w.lines(t)
		require.Len(t, lines, 12, "the last refusal is reported by itself")
		assert.Equal(t, "requests over the limit", lines[11]["msg"])
		assert.Equal(t, "WARN", lines[11]["level"])
		assert.EqualValues(t, 1, lines[11]["left_out"])
	})
}

// In a flood that goes on, each line tells of a refusal. The timer does not take the lines.
func TestFloodThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newJSON(t, refusallog.Options{})
		total := 0
		for range 6000 { // for ten minutes
			time.Sleep(100 * time.Millisecond)
			l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
			total++
		}
		lines := w.lines(t)
		assert.InDelta(t, 110, len(lines), 2)
		time.Sleep(time.Hour)
		told := 0
		for i, line := range w.lines(t) {
			told += int(line["left_out"].(float64))
			if i < len(lines) {
				assert.Equal(t, "request refused", line["msg"])
				told++
			}
		}
		assert.Equal(t, total, told)
	})
}

// Failures have an allowance of their own: a flood of denials does not hide them.
func TestFailuresAreNotDrowned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newJSON(t, refusallog.Options{Lines: weir.SlidingLog{Limit: 1, Per: time.Hour}})
		for range 100 {
			l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		}
		for range 3 {
			l.Refused(ctx, weir.Refusal{N: 1, Err: errors.New("away"), Enforced: true})
		}
		time.Sleep(2 * time.Hour)
		var told []string
		for _, line := range w.lines(t) {
			told = append(told, fmt.Sprint(line["level"], " ", line["msg"], " ", line["left_out"]))
		}
		assert.ElementsMatch(t, []string{
			"WARN request refused 0", "WARN requests over the limit 99",
			"ERROR request without a decision 0", "ERROR requests without a decision 2",
		}, told)
	})
}

// Whatever goroutines refuse at the same time, each refusal is counted once.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newJSON(t, refusallog.Options{Lines: weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 3}})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 1000 {
					l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
					if i%10 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute)
		told := 0
		for _, line := range w.lines(t) {
			told += int(line["left_out"].(float64))
			if line["msg"] == "request refused" {
				told++
			}
		}
		assert.Equal(t, 8000, told)
	})
}

// What is left out costs no memory, and its key is not looked at.
func TestLeftOutIsCheap(t *testing.T) {
	l, w := newText(t, refusallog.Options{
		Lines: weir.SlidingLog{Limit: 1, Per: time.Hour},
		Key:   func(key string) string { return "hash of " + key },
	})
	r := weir.Refusal{Key: "ada", N: 1, Enforced: true}
	l.Refused(ctx, r)
	assert.Contains(t, w.text(), `key="hash of ada"`)
	l.Refused(ctx, r) // sets the timer
	assert.Zero(t, kit.AllocsPerRun(100, func() { l.Refused(ctx, r) }))
}

func TestNoKeysUnlessChosen(t *testing.T) {
	l, w := newText(t, refusallog.Options{})
	l.Refused(ctx, weir.Refusal{Key: "secret", N: 1, Enforced: true})
	assert.NotEmpty(t, w.text())
	assert.NotContains(t, w.text(), "secret")
}

func TestShadow(t *testing.T) {
	l, w := newText(t, refusallog.Options{})
	limiter := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}))
	shadow := weir.Shadow(limiter, func(r weir.Refusal) { l.Refused(ctx, r) })
	for range 2 {
		assert.True(t, shadow.Allow("ada"))
	}
	assert.Equal(t, `level=WARN msg="request would be refused" limiter=login events=1 left_out=0`+"\n", w.text())
}

// A limit on trial refuses nothing, and no line says that it did.
func TestShadow_Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newText(t, refusallog.Options{Lines: weir.SlidingLog{Limit: 1, Per: time.Minute}})
		for range 100 {
			l.Refused(ctx, weir.Refusal{N: 1})
		}
		time.Sleep(time.Hour)
		assert.Contains(t, w.text(), "left_out=99")
		assert.Equal(t, 1, strings.Count(w.text(), "refused"), "it would be")
	})
}

func TestNew_Faults(t *testing.T) {
	_, err := refusallog.New(nil, "login", refusallog.Options{Lines: weir.TokenBucket{}})
	assert.EqualError(t, err, "weir: refusallog.New with a nil Logger, must be a Logger\n"+
		"weir: refusallog.Options.Lines: weir: weir.TokenBucket.Limit is 0, must be at least 1\n"+
		"weir: weir.TokenBucket.Per is 0s, must be at least 1ns")
}
