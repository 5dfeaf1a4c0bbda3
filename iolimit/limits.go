package iolimit

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/weir-go/weir"
)

// A Limit is a limiter of bytes, and the key whose allowance the bytes use.
type Limit struct {
	// Limiter decides how many bytes may pass. It is required: without it, every Read and Write of
	// at least one byte fails. If it has the Return method of [weir.KeyedLimiter], it gets back the
	// bytes that it has granted and that could not be written.
	Limiter weir.Limiter

	// Key says whose allowance the bytes use. It may be empty, for instance if all bytes count
	// together.
	Key string
}

var errNoLimiter = errors.New("weir: Limit.Limiter is nil, must be a Limiter")

const (
	leastChunk = 512      // bytes, so that a call moves more than a few
	mostChunk  = 16 << 10 // bytes, so that others that share the limit have their turn soon

	// lookEvery is the number of chunks after which the limiters are asked again how much they
	// grant at once. If they grant more than before, the chunks become larger.
	lookEvery = 64
)

// limits are the limits of a reader or a writer. They are not safe for concurrent use.
type limits struct {
	list  []counting
	chunk int // the size of a chunk, as of the last look
	left  int // chunks until the next look
}

// counting is a limit, and how many bytes it has granted that have not passed. There are such bytes
// only after a wait has failed, or has returned fewer bytes than it was asked for.
type counting struct {
	Limit
	ahead int
}

func newLimits(list []Limit) (l limits) {
	l.list = make([]counting, len(list))
	for i, limit := range list {
		l.list[i].Limit = limit
	}
	return l
}

// next returns how many of n bytes are the next chunk.
func (l *limits) next(ctx context.Context, n int) (int, error) {
	if l.left == 0 {
		if err := l.look(ctx); err != nil {
			return 0, err
		}
		l.left = lookEvery
	}
	l.left--
	return min(n, l.chunk), nil
}

// look asks all limiters for the size of a chunk.
func (l *limits) look(ctx context.Context) error {
	chunk := math.MaxInt
	for _, limit := range l.list {
		if limit.Limiter == nil {
			return errNoLimiter
		}
		most, err := limit.most(ctx)
		if err != nil {
			return err
		}
		chunk = min(chunk, chunkOf(most))
	}
	l.chunk = chunk
	return nil
}

// most returns how many bytes the limiter grants at once. With several tiers, it is what the
// smallest tier with room for a chunk grants: a tier never pays for a chunk that is larger than the
// tier.
func (l *Limit) most(ctx context.Context) (int, error) {
	detailed, ok := l.Limiter.(interface {
		TakeByComponent(ctx context.Context, key string, n int, results *[]weir.Result) (weir.Result, error)
	})
	var results []weir.Result
	var r weir.Result
	var err error
	if ok {
		r, err = detailed.TakeByComponent(ctx, l.Key, 0, &results)
	} else {
		r, err = l.Limiter.Take(ctx, l.Key, 0)
	}
	most := cmp.Or(r.Limit, leastChunk) // 0 from a Shadow whose store is away
	for _, component := range results {
		if component.Limit >= leastChunk {
			most = min(most, component.Limit)
		}
	}
	return most, err
}

// chunkOf returns the size of the chunks if most bytes are granted at once. Chunks are equal parts
// of most. A window is then used up, except for fewer bytes than it has chunks.
func chunkOf(most int) int {
	parts := max(1, min(most/leastChunk, 8))
	if most/parts > mostChunk {
		parts = (most-1)/mostChunk + 1
	}
	return max(most/parts, 1)
}

// wait returns when all limits have granted bytes, which pass then, and how many of n they are: fewer
// if a limit has shrunk below n. If they passed together later, they would pass faster than the limit
// allows. What other limits have granted already is for the next chunk: after an error, too, unless
// giveUp is called.
func (l *limits) wait(ctx context.Context, n int) (int, error) {
	for i := 0; i < len(l.list); {
		limit := &l.list[i]
		if limit.ahead >= n {
			i++
			continue
		}
		err := limit.Limiter.Wait(ctx, limit.Key, n-limit.ahead)
		if errors.Is(err, weir.ErrNeverFits) { // the policy was changed
			if err := l.look(ctx); err != nil {
				return 0, err
			}
			if l.chunk < n {
				n = l.chunk
				continue
			}
		}
		if err != nil {
			return 0, err
		}
		limit.ahead = n
	}
	for i := range l.list {
		l.list[i].ahead -= n
	}
	return n, nil
}

// giveUp gives back what limits have granted and no chunk has used.
func (l *limits) giveUp(ctx context.Context) {
	for i := range l.list {
		limit := &l.list[i]
		limit.giveBack(ctx, limit.ahead)
		limit.ahead = 0
	}
}

// giveBack gives back n bytes that all limits have granted.
func (l *limits) giveBack(ctx context.Context, n int) {
	for i := range l.list {
		l.list[i].giveBack(ctx, n)
	}
}

// giveBack gives back n bytes. An error is ignored: the caller has one already, and the limit only
// stays stricter for a while.
func (l *Limit) giveBack(ctx context.Context, n int) {
	k, ok := l.Limiter.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	if ok && n > 0 {
		_ = k.Return(ctx, l.Key, n)
	}
}
