package main

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestScheduleDue(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	paused := schedule{outages: []time.Duration{4 * s, 6 * s}}
	paced := schedule{offer: 1000, outages: []time.Duration{4 * s}}
	for _, c := range []struct {
		name      string
		schedule  schedule
		line      int
		now, want time.Duration
	}{
		{"as it is taken", schedule{}, 7, 3 * s, 3 * s},
		{"just before an outage", paused, 0, 4*s - 1, 4*s - 1},
		{"at the start of one", paused, 0, 4 * s, 5 * s},
		{"in one", paused, 0, 4500 * ms, 5 * s},
		{"at the end of one", paused, 0, 5 * s, 5 * s},
		{"in the second", paused, 0, 6*s + 1, 7 * s},
		{"adjacent ones", schedule{outages: []time.Duration{4 * s, 5 * s}}, 0, 4 * s, 6 * s},
		{"overlapping ones", schedule{outages: []time.Duration{4 * s, 4500 * ms}}, 0, 4 * s, 5500 * ms},
		{"from the start", schedule{outages: []time.Duration{0}}, 0, 0, s},
		{"paced, early", paced, 1, 0, ms},
		{"paced, late", paced, 1, 2 * ms, 2 * ms},
		{"paced into an outage", paced, 4000, 0, 5 * s},
		{"paced, piled up behind it", paced, 4999, 5 * s, 5 * s},
		{"paced, after it", paced, 5001, 5 * s, 5*s + ms},
		{"a third of a second", schedule{offer: 3}, 4, 0, s + s/3},
		{"a line far out", schedule{offer: 1}, int(math.MaxInt64 / s), 0, math.MaxInt64 / s * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, c.schedule.due(c.line, c.now))
		})
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		assert.NoError(t, sleep(ctx, -time.Second))
		assert.NoError(t, sleep(ctx, 2*time.Second))
		assert.Equal(t, 2*time.Second, time.Since(start))

		time.AfterFunc(time.Second, func() { cancel(why) })
		assert.Equal(t, why, sleep(ctx, time.Hour))
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}
