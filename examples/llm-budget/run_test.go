package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func output(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

// play lets callers call for half an hour, and returns what they did.
func play(t *testing.T, settle bool) (sum tally, l *load) {
	l = &load{budget: newBudget(), settle: settle}
	ctx, cancel := context.WithTimeout(t.Context(), 30*minute)
	defer cancel()
	require.NoError(t, l.run(ctx, 60))
	for _, m := range l.minutes {
		sum.add(m)
	}
	return sum, l
}

// No more is used than the budget allows and what calls under way have overdrawn, and
// the budget is used up, or nearly.
func TestTheBudgetIsKeptAndUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, l := play(t, true)
		allowed := tokensAMinute.Burst + 30*tokensAMinute.Limit
		assert.LessOrEqual(t, sum.used-sum.over, allowed)
		assert.GreaterOrEqual(t, sum.used, allowed*9/10)
		assert.LessOrEqual(t, sum.calls, requestsAMinute.Burst+30*requestsAMinute.Limit)
		assert.Equal(t, sum.used-sum.estimated, sum.over-sum.back)
		assert.Positive(t, sum.refused)
		assert.Positive(t, sum.gaveUp)

		time.Sleep(minute) // what was overdrawn or booked is paid for then
		for _, limiter := range []*weir.KeyedLimiter{l.budget.tokens, l.budget.requests} {
			look, err := limiter.Take(t.Context(), model, 0)
			require.NoError(t, err)
			assert.Equal(t, look.Limit, look.Remaining, "something is booked for nobody")
		}
	})
}

func TestSettlingMakesRoomForMoreCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settled, _ := play(t, true)
		estimated, _ := play(t, false)
		assert.Greater(t, settled.calls, estimated.calls*5/4)
	})
}

// A call that one of the limiters denies is charged to neither.
func TestBothOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		b := newBudget()
		_, err := b.begin(ctx, model, tokensAMinute.Burst+1)
		require.ErrorIs(t, err, errRefused)
		look, err := b.requests.Take(ctx, model, 0)
		require.NoError(t, err)
		assert.Equal(t, look.Limit, look.Remaining)

		_, err = b.requests.Take(ctx, model, requestsAMinute.Burst)
		require.NoError(t, err)
		for range 30 { // what is earned in patience
			_, err = b.begin(ctx, model, 1)
			require.NoError(t, err)
		}
		_, err = b.begin(ctx, model, 1)
		require.ErrorIs(t, err, errRefused)
		look, err = b.tokens.Take(ctx, model, 0)
		require.NoError(t, err)
		assert.Equal(t, look.Limit-30, look.Remaining)
	})
}

func TestAnErrorOfTheStoreEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		b.tokens = weir.Must(weir.New(tokensAMinute, weir.WithStore(down{})))
		l := &load{budget: b, settle: true}
		assert.ErrorIs(t, l.run(t.Context(), 10), errDown)
		look, err := b.requests.Take(t.Context(), model, 0)
		require.NoError(t, err)
		assert.Equal(t, look.Limit, look.Remaining)
	})
}

// A call whose deadline passes while it asks is refused, as on a busy machine.
func TestACallThatCouldNotStartInTimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		b.tokens = weir.Must(weir.New(tokensAMinute, weir.WithStore(slow{})))
		l := &load{budget: b, settle: true}
		ctx, cancel := context.WithTimeout(t.Context(), minute)
		defer cancel()
		require.NoError(t, l.run(ctx, 10))
		assert.Positive(t, l.minutes[0].refused)
	})
}

// slow is a store that does not answer in time.
type slow struct{}

func (slow) Do(ctx context.Context, _ weir.Request) (weir.Answer, error) {
	<-ctx.Done()
	return weir.Answer{}, ctx.Err()
}

type down struct{}

var errDown = errors.New("down")

func (down) Do(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, errDown }

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code, out, stderr := output(t.Context(), "-minutes", "3", "-callers", "30")
		assert.Zero(t, code, stderr)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.Len(t, lines, 7)
		assert.Contains(t, lines[0], "given back")
		for i, name := range []string{"1", "2", "3", "all"} {
			assert.Equal(t, name, strings.Fields(lines[i+1])[0])
		}
		assert.Regexp(t, `^used \d+ of the 285000 tokens that the budget allows`, lines[6])
	})
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-callers 0":    `invalid value "0" for flag -callers: must be a whole number from 1 to 10000`,
		"-minutes x":    "must be a whole number from 1 to 600",
		"-settle=maybe": "settle",
		"something":     `argument "something", must be none`,
	} {
		code, out, stderr := output(t.Context(), strings.Fields(args)...)
		assert.Equal(t, 2, code)
		assert.Empty(t, out)
		assert.Contains(t, stderr, want)
	}
	code, out, _ := output(t.Context(), "-h")
	assert.Zero(t, code)
	assert.Contains(t, out, "-callers")
}
