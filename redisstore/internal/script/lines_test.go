package script

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Of each key one has its turn at a time, and when nobody is in the lines, nothing is left of them.
func TestLines(t *testing.T) {
	var ls lines
	var turns [10]int // the race detector watches them
	var all sync.WaitGroup
	served, gaveUp := 0, 0
	var mu sync.Mutex
	for range 8 {
		all.Go(func() {
			for range 1000 {
				i := rand.IntN(len(turns))
				until := time.Now().Add(time.Duration(rand.IntN(2)) * time.Hour)
				l, err := ls.enter(t.Context(), fmt.Sprint(i), until)
				if err == nil {
					turns[i]++
					ls.leave(l)
				}
				mu.Lock()
				if err == nil {
					served++
				} else {
					gaveUp++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range turns {
		sum += n
	}
	assert.Equal(t, served, sum)
	assert.Equal(t, 8000, served+gaveUp)
	assert.Empty(t, ls.byKey)
}
