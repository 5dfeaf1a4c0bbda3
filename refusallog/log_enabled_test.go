package refusallog_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/refusallog"
)

// A logger that is not enabled for a level gets no lines of it. They use up no allowance, and no
// timer is left behind.
func TestRefused_LevelNotEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, level := new(written), new(slog.LevelVar)
		level.Set(slog.LevelError)
		keys := 0
		l, err := refusallog.New(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime})), "login",
			refusallog.Options{Key: func(key string) string { keys++; return key }})
		require.NoError(t, err)
		denied := weir.Refusal{Key: "ada", N: 1, Result: weir.Result{Limit: 5}, Enforced: true}
		for range 100 {
			l.Refused(ctx, denied)
		}
		assert.Zero(t, keys)
		assert.Empty(t, w.text())
		level.Set(slog.LevelWarn)
		l.Refused(ctx, denied)
		assert.Contains(t, w.text(), "left_out=0")
		time.Sleep(time.Hour)
		assert.Equal(t, 1, strings.Count(w.text(), "\n"))
	})
}

// Refusals that were left out are told of, also if the logger was not enabled when the timer came.
func TestRefused_LevelNotEnabledForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, level := new(written), new(slog.LevelVar)
		l, err := refusallog.New(slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), "login",
			refusallog.Options{Lines: weir.SlidingLog{Limit: 1, Per: time.Minute}})
		require.NoError(t, err)
		for range 5 {
			l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		}
		level.Set(slog.LevelError)
		time.Sleep(time.Hour)
		require.Len(t, w.lines(t), 1)
		level.Set(slog.LevelWarn)
		l.Refused(ctx, weir.Refusal{N: 1, Enforced: true})
		require.Len(t, w.lines(t), 2)
		assert.EqualValues(t, 4, w.lines(t)[1]["left_out"])
	})
}
