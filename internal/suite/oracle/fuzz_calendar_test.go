package oracle

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// FuzzCalendarWindow holds the policy, and a limiter that has it, against the model, with all that
// can be asked, around instants at which clocks do odd things.
func FuzzCalendarWindow(f *testing.F) {
	for seed := range runs.Long[byte](100, 20) {
		bytes := make([]byte, 2000)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(bytes)
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		p, now := calendarChoice(tp)
		x := &calendarTrial{t: t, key: kit.NewKey(t, p), model: newCalendarModel(p)}
		x.limiter = weir.Must(weir.New(p, weir.WithStore(&x.front), weir.WithClock(&x.clock)))
		x.direct = weir.Must(weir.New(p, weir.WithStore(&x.front.MemStore), weir.WithClock(&x.clock)))

		c := course{tape: tp, limit: p.Limit, width: []int64{1: 60, 3600, 86400, 604800, 2592000, 31536000}[p.Unit] * int64(time.Second)}
		c.event = c.width / int64(p.Limit)
		granted := []int64{0, now}
		for steps := 0; len(tp.rest) > 0 && steps < 40; steps++ {
			ask := c.ask()
			if ask.Mode = pick(tp, weir.AllOrNone, weir.AllOrNone, weir.UpTo, weir.Regardless); ask.Mode != weir.AllOrNone {
				ask.MaxWait = 0
			}
			if ask.N < 0 {
				ask.GrantedAt = granted[tp.below(int64(len(granted)))]
			}
			if c.last = x.ask(now, ask); c.last.Allowed {
				granted = append(granted, x.seen)
			}
			now = c.at(x.seen)
		}
	})
}

// calendarChoice is a policy, and an instant to start from.
func calendarChoice(tp *tape) (weir.CalendarWindow, int64) {
	p := weir.CalendarWindow{
		Limit: pick(tp, 1, 2, 3, 10, 1000, 1<<20, 1<<29-1, 1<<29, 1<<30-1, math.MaxInt, int(tp.any(math.MaxInt))),
		Unit:  pick(tp, weir.Minute, weir.Hour, weir.Hour, weir.Day, weir.Week, weir.Month, weir.Month, weir.Year),
		Location: pick(tp, "", "Europe/Berlin", "America/New_York", "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe",
			"Pacific/Apia", "Asia/Kathmandu", "Africa/Monrovia", "Antarctica/Troll", "Pacific/Kwajalein", "Africa/Casablanca"),
	}
	switch p.Unit {
	case weir.Week:
		p.Start = int(tp.below(7))
	case weir.Month:
		p.Start = pick(tp, 0, 1, 15, 28, 29, 30, 31, int(tp.below(32)))
	case weir.Year:
		p.Start = int(tp.below(13))
	}
	at := pick[int64](tp, 0, 1_792_890_000, 1_793_512_800, 1_162_089_060, 1_541_300_400, 1_775_314_800, 1_325_239_200,
		63_593_070, 745_934_400, 2_240_568_000, lastSecond/int64(time.Second)-86400, tp.below(lastSecond/int64(time.Second)))
	near := pick[int64](tp, 0, -1, int64(time.Second), -int64(time.Hour), -int64(24*time.Hour), -tp.below(int64(year)))
	return p, max(at*int64(time.Second)+near, 0)
}

type calendarTrial struct {
	t     *testing.T
	key   *kit.Key
	model model
	seen  int64 // the latest instant

	clock           kit.HandClock
	front           kit.FrontStore
	limiter, direct *weir.KeyedLimiter // direct is past the front
	allows          int
}

// ask puts the ask to all three, at the latest instant if now is older.
func (x *calendarTrial) ask(now int64, ask weir.Ask) weir.Answer {
	if now >= lastSecond {
		now = math.MaxInt64
	}
	x.seen = max(x.seen, now)
	x.clock.Time = time.Unix(0, x.seen)
	before := slices.Clone(x.key.State)
	want, left := x.model.ask(x.seen, ask)
	got := x.key.Ask(x.seen, ask)
	require.Equal(x.t, want, got, "%+v asked for %+v at %d", x.model, ask, x.seen)
	if ask.N == 0 || !got.Allowed {
		require.Equal(x.t, before, x.key.State, "R2, R3")
	}
	x.model = left

	if x.allows++; ask == (weir.Ask{N: 1}) && x.allows%2 == 0 {
		require.Equal(x.t, want.Allowed, x.direct.Allow("key"))
	} else {
		x.front.Instead = ask
		_, err := x.limiter.Take(context.Background(), "key", 0)
		require.NoError(x.t, err)
		inStore := x.front.Answer
		require.Equal(x.t, x.seen, inStore.At)
		inStore.At = 0
		require.Equal(x.t, want, inStore, "%+v in a store, asked for %+v at %d", x.model, ask, x.seen)
	}

	if retry := int64(got.RetryAfter); retry > 0 && retry <= math.MaxInt64-x.seen { // R4
		x.agree(x.seen+retry-1, ask)
		x.agree(x.seen+retry, ask)
	}
	expiry := x.key.Expiry(x.key.State)
	if want := left.(calendarModel).expiry(); want > 0 {
		require.Equal(x.t, want, expiry, "R6: %+v", left)
	} else {
		require.LessOrEqual(x.t, expiry, x.seen, "R6: %+v", left)
	}
	if expiry > x.seen && expiry < math.MaxInt64 {
		x.agree(expiry-1, weir.Ask{})
		require.Equal(x.t, kit.NewKey(x.t, left.(calendarModel).policy).Ask(expiry, ask), x.key.Copy().Ask(expiry, ask), "R6")
		older := x.key.Copy()
		for _, at := range []int64{0, x.seen / 2, x.seen - 1} { // R7
			require.LessOrEqual(x.t, older.Look(max(at, 0)).Remaining, got.Remaining)
		}
	}
	return got
}

// agree requires that policy and model would answer the same at a later instant.
func (x *calendarTrial) agree(now int64, ask weir.Ask) {
	want, _ := x.model.ask(now, ask)
	require.Equal(x.t, want, x.key.Copy().Ask(now, ask), "%+v asked for %+v at %d", x.model, ask, now)
}
