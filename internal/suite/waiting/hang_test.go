package waiting

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A store that hangs returns when the context ends. Wait must do so at every step: when it first
// asks, and when its turn has come.
func TestP22_WaitReturnsWhenTheStoreHangs(t *testing.T) {
	for _, p := range policiesToWaitFor {
		for hangs := 1; hangs <= 2; hangs++ {
			t.Run(fmt.Sprintf("%T ask %d", p, hangs), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem, asked, over := new(weir.MemStore), 0, make(chan struct{})
					store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
						if asked++; asked > hangs {
							select {
							case <-ctx.Done():
								return weir.Answer{}, ctx.Err()
							case <-over:
								return weir.Answer{}, kit.ErrStore
							}
						}
						return mem.Do(ctx, r)
					})
					c := newCrowd(t, weir.Must(weir.New(p, weir.WithStore(store))))
					c.come("a", 1)
					c.comeUntil(2*time.Second, "b", 1)
					c.until(3 * time.Second)
					assert.Len(c.t, c.returned(), 2, "b still waits for the store")
					close(over)
					c.end()
				})
			})
		}
	}
}

// A caller that is cancelled returns, even if the store hangs while its place is given back.
func TestP22_CancelledWaitReturnsWhenTheStoreHangs(t *testing.T) {
	for _, p := range policiesToWaitFor[:2] {
		synctest.Test(t, func(t *testing.T) {
			mem, over := new(weir.MemStore), make(chan struct{})
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.N < 0 {
					select {
					case <-ctx.Done():
						return weir.Answer{}, ctx.Err()
					case <-over:
						return weir.Answer{}, kit.ErrStore
					}
				}
				return mem.Do(ctx, r)
			})
			c := newCrowd(t, weir.Must(weir.New(p, weir.WithStore(store))))
			c.come("a", 1)
			c.come("b", 1)
			c.cancel(c.callers[1])
			c.until(10 * time.Minute)
			assert.Len(c.t, c.returned(), 2, "b still waits for the store")
			close(over)
			c.end()
		})
	}
}
