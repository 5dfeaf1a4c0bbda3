package refusallog_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/refusallog"
)

// A panics is a handler that panics as often as it says, and then writes.
type panics struct {
	slog.Handler
	times *atomic.Int32
}

func (p panics) Handle(ctx context.Context, r slog.Record) error {
	if p.times.Add(-1) >= 0 {
		panic("no disk")
	}
	return p.Handler.Handle(ctx, r)
}

// A panic of the logger's handler reaches a caller, also one in the line of the timer, which would
// otherwise end the process. Each refusal is told when the handler works again.
func TestPanicOfTheHandlerReachesACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, times := new(written), new(atomic.Int32)
		l, err := refusallog.New(slog.New(panics{slog.NewJSONHandler(w, nil), times}), "login",
			refusallog.Options{Lines: weir.SlidingLog{Limit: 1, Per: time.Minute}})
		require.NoError(t, err)
		refuse := func() { l.Refused(ctx, weir.Refusal{N: 1, Enforced: true}) }

		times.Store(1)
		assert.PanicsWithValue(t, "no disk", refuse, "its own line")
		refuse()
		time.Sleep(time.Hour)
		require.Len(t, w.lines(t), 1)
		assert.EqualValues(t, 2, w.lines(t)[0]["left_out"])

		refuse()
		refuse()
		times.Store(1)
		time.Sleep(time.Hour) // the timer's line
		require.Len(t, w.lines(t), 2)
		l.Refused(ctx, weir.Refusal{N: 1, Result: weir.Result{Allowed: true}})
		func() {
			defer func() {
				err, _ := recover().(error)
				assert.ErrorContains(t, err, `weir: refusallog: a panic in the line "requests over the limit": no disk`)
				assert.ErrorContains(t, err, "panics.Handle", "with its stack")
			}()
			refuse()
		}()
		refuse()
		time.Sleep(time.Hour)
		told := 0
		for _, line := range w.lines(t)[2:] {
			told += int(line["left_out"].(float64))
			if line["msg"] == "request refused" {
				told++
			}
		}
		assert.Equal(t, 3, told)
	})
}

// A refusal whose key cannot be logged is told of by the next line.
func TestPanicOfKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newJSON(t, refusallog.Options{Key: func(key string) string { return key[:3] }})
		assert.Panics(t, func() { l.Refused(ctx, weir.Refusal{Key: "x", N: 1, Enforced: true}) })
		time.Sleep(time.Hour)
		require.Len(t, w.lines(t), 1)
		assert.EqualValues(t, 1, w.lines(t)[0]["left_out"])
	})
}
