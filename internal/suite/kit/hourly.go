package kit

import (
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// Hourly returns a policy of another package. It has a limit for each hour, which is day from eight
// o'clock on, in UTC, and night before.
func Hourly(day, night int) weir.Policy {
	return hourly{weir.FixedWindow{Limit: day, Per: time.Hour}, weir.FixedWindow{Limit: night, Per: time.Hour}}
}

type hourly struct{ day, night weir.FixedWindow }

type hourlyDecider struct{ day, night weir.Decider }

func (p hourly) Decider() (weir.Decider, error) {
	day, err := p.day.Decider()
	night, err2 := p.night.Decider()
	return hourlyDecider{day, night}, errors.Join(err, err2)
}

const opens = 8 * time.Hour

func (d hourlyDecider) Words() int { return d.day.Words() }

func (d hourlyDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	today := time.Duration(now) % (24 * time.Hour)
	if today >= opens {
		return d.day.Decide(state, now, ask)
	}
	state, a := d.night.Decide(state, now, ask)
	if _, opened := d.day.Decide(make([]uint64, len(state)), now, ask); !a.Allowed && a.RetryAfter == weir.Never && opened.Allowed {
		a.RetryAfter = opens - today
	}
	return state, a
}

func (d hourlyDecider) Expiry(state []uint64) int64 { return d.day.Expiry(state) }
