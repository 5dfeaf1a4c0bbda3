package change

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// R20: what is cancelled charges nobody any more, also after a change. It is the policy that
// granted it whose events are fewer.
func TestR20_WhatIsCancelledDoesNotCharge(t *testing.T) {
	trial := &Trial{
		Start:    int64(time.Hour),
		Policies: several(one(weir.SlidingWindow{Limit: 3, Per: time.Hour}), one(weir.LeakyBucket{Limit: 3, Per: time.Minute})),
		Steps: []Step{
			{ID: 1, Op: opReserve, By: 0, N: 1, D: -1},
			{ID: 2, Op: opSettle, By: 1, Of: 1},
			{ID: 3, Op: opReserve, By: 1, N: 1, D: -1},
			{ID: 4, Op: opReserve, By: 1, N: 1, D: -1},
		},
	}
	v, answers := (&Suite{New: memStore, t: t}).fails(trial)
	assert.Nil(t, v)
	assert.Equal(t, 20*time.Second, answers[3].delay)
}
