package casstore_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A panicking policy, as one of another package may be.
type panicking struct{ weir.FixedWindow }

type panickingDecider struct{ weir.Decider }

var beast atomic.Bool // makes Expiry panic

func (p panicking) Decider() (weir.Decider, error) {
	d, err := p.FixedWindow.Decider()
	return panickingDecider{d}, err
}

func (d panickingDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	if ask.N == 13 {
		panic("thirteen")
	}
	return d.Decider.Decide(state, now, ask)
}

func (d panickingDecider) Expiry(state []uint64) int64 {
	if beast.Load() {
		panic("the beast")
	}
	return d.Decider.Expiry(state)
}

// A panic is an error of those whom it concerns. The store goes on.
func TestPanics(t *testing.T) {
	t.Run("of a policy", func(t *testing.T) {
		bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
			l := newLimiter(t, s, panicking{weir.FixedWindow{Limit: 1 << 30, Per: 1000 * time.Hour}})
			go l.Allow("k")
			synctest.Wait() // the others have a round together
			ended := make(chan error)
			go func() {
				_, err := l.Take(t.Context(), "k", 13)
				ended <- err
			}()
			granted, errs := flood(l, 20)
			assert.Equal(t, 20, granted)
			assert.Empty(t, errs)
			err := <-ended
			assert.ErrorContains(t, err, "thirteen")
			assert.ErrorIs(t, err, weir.ErrRequest)
			beast.Store(true)
			_, err = l.Take(t.Context(), "k", 1)
			beast.Store(false)
			assert.ErrorContains(t, err, "the beast")
			assert.ErrorIs(t, err, weir.ErrRequest)
			assert.True(t, l.Allow("k"))
		})
	})
	for want, goOff := range map[string]func(){
		"panicked: out of paper": func() { panic("out of paper") },
		"ended the goroutine":    runtime.Goexit,
	} {
		t.Run("of a Register: "+want, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
				l := newLimiter(t, s, wide)
				m.before = func(context.Context) error {
					time.Sleep(trip)
					goOff()
					return nil
				}
				ended := make(chan error)
				go func() {
					_, err := l.Take(t.Context(), "k", 1)
					ended <- err
				}()
				synctest.Wait()
				time.AfterFunc(trip/2, func() { m.set(slow) }) // for the next round
				granted, errs := flood(l, 20)
				err := <-ended
				assert.ErrorContains(t, err, want)
				assert.NotErrorIs(t, err, weir.ErrRequest)
				assert.Equal(t, 20, granted)
				assert.Empty(t, errs)
			})
		})
	}
}
