package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A window ends at 10 s. The requests are sent and answered at these milliseconds.
func TestGrantedIn(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	for _, test := range []struct {
		sent, answered int64
		resetAfter     time.Duration
		want           int64
	}{
		{9_000, 9_010, 995 * time.Millisecond, 9},
		{9_990, 9_999, time.Millisecond, 9},
		{9_990, 10_005, 9 * time.Millisecond, 9},
		{9_990, 10_005, 0, 9},
		{9_990, 10_005, 999 * time.Millisecond, 10},
		{9_990, 10_005, time.Second, 10},
		{9_010, 10_000, 1 * time.Millisecond, 9},
		{9_010, 10_009, time.Second, 10},
		{10_000, 10_001, time.Second, 10},
	} {
		assert.Equal(t, test.want, grantedIn(at(test.sent), at(test.answered), test.resetAfter, time.Second), "%+v", test)
	}
}
