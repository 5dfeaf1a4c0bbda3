package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// waited runs the traffic of a scenario's first lane through Wait, in a bubble.
func waited(t *testing.T, s Scenario) (went []time.Duration, full int) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(Start))
		lane := s.Lanes[0]
		l := weir.Must(weir.New(lane.Policy))
		ctx, cancel := context.WithCancel(context.Background())
		if lane.Then != nil {
			time.AfterFunc(lane.At, func() { assert.NoError(t, l.SetPolicy(ctx, lane.Then)) })
		}
		type result struct {
			at  time.Duration
			err error
		}
		results := make(chan result, maxArrivals)
		for _, at := range s.arrivals() {
			time.Sleep(time.Until(Start.Add(time.Duration(at))))
			synctest.Wait()
			go func() {
				err := l.Wait(ctx, key, 1)
				results <- result{time.Since(Start), err}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Until(Start.Add(s.Span)))
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(results)
		for r := range results {
			switch {
			case r.err == nil:
				went = append(went, r.at)
			case !errors.Is(r.err, context.Canceled):
				assert.ErrorIs(t, r.err, weir.ErrQueueFull)
				full++
			}
		}
	})
	return went, full
}

// A simulation of clients that wait lets them go at the instants at which Wait does. The changes
// are at instants at which nothing else happens: Go does not say which timer of an instant comes
// first.
func TestWaitIsWait(t *testing.T) {
	for _, query := range []string{
		"p=10/1s&r=8&b=3s:30",
		"p=leaky-bucket+10/1s&r=8&b=3s:30",
		"p=leaky-bucket+10/1s+capacity%3D3&r=12&x=poisson",
		"p=fixed-window+10/1s&r=9&b=2500ms:30",
		"p=sliding-window+10/1s&r=9&b=2500ms:30",
		"p=sliding-log+10/1s&r=9&b=2500ms:30&x=poisson",
		"p=all(10/1s,+sliding-log+20/4s)&r=5&b=2500ms:30",
		"p=tiers(2/1s,+sliding-log+5/1s)&r=5&b=2500ms:30",
		"p=10/1s~4030ms~5/1s&r=8&b=3s:30",
		"p=5/1s~4030ms~leaky-bucket+20/1s&r=8&b=3s:30",
		"p=leaky-bucket+5/1s+capacity%3D30~4030ms~leaky-bucket+5/1s+capacity%3D3&r=2&b=3s:25",
		"p=sliding-log+10/2s~4030ms~sliding-log+20/2s&r=8&b=3s:30",
		"p=leaky-bucket+5/1s~4030ms~fixed-window+8/1s&r=8&b=3s:30",
	} {
		t.Run(query, func(t *testing.T) {
			r := ran(t, query+"&c=wait&t=10s")
			want, full := waited(t, r.scenario)
			got := grants(r, 0)
			require.NotEmpty(t, got)
			assert.Equal(t, want, got)
			denied := slices.DeleteFunc(answers(r, 0), func(rec Record) bool { return rec.Kind != Denied })
			assert.Len(t, denied, full)
		})
	}
}
