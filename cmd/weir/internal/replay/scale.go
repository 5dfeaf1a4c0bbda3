package replay

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// Scaled returns p with another limit. The first number of p's text becomes limit. The bursts,
// capacities and excesses, and the limits of other components, are multiplied by as much and
// rounded, to at least 1. A zero stays zero. The Peak of a [weir.TwoRateMarker] stays at least as
// fast as its Committed. An error means that p contains a policy of another package, or that its
// first Limit is below 1.
func Scaled(p weir.Policy, limit int) (weir.Policy, error) {
	first, err := firstLimit(p)
	if err != nil {
		return nil, err
	}
	return scale(p, func(n int) int {
		if n == 0 {
			return 0 // for the default
		}
		x := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(limit)))
		x.Add(x, big.NewInt(int64(first/2)))
		if x.Div(x, big.NewInt(int64(first))); !x.IsInt64() || x.Int64() > math.MaxInt {
			return math.MaxInt
		}
		return max(int(x.Int64()), 1)
	})
}

func firstLimit(p weir.Policy) (n int, err error) {
	_, err = scale(p, func(limit int) int {
		if n == 0 {
			n = limit
		}
		return limit
	})
	if err == nil && n < 1 {
		err = fmt.Errorf("policy %v has the limit %d, must be at least 1", p, n)
	}
	return n, err
}

// asSlow returns the largest limit of a bucket with this Per that is as slow as b.
func asSlow(b weir.TokenBucket, per time.Duration) int { return asOften(b, per, 0) }

// asFast returns the smallest limit of a bucket with this Per that is as fast as b.
func asFast(b weir.TokenBucket, per time.Duration) int { return asOften(b, per, int64(b.Per)-1) }

// asOften returns the limit of a bucket with this Per that has the rate of b. more is added before
// the division that rounds it down.
func asOften(b weir.TokenBucket, per time.Duration, more int64) int {
	x := new(big.Int).Mul(big.NewInt(int64(b.Limit)), big.NewInt(int64(per)))
	x.Add(x, big.NewInt(more))
	if x.Div(x, big.NewInt(int64(b.Per))); !x.IsInt64() || x.Int64() > math.MaxInt {
		return math.MaxInt
	}
	return int(x.Int64())
}

// scale returns p with each number replaced, the limit first.
func scale(p weir.Policy, by func(int) int) (weir.Policy, error) {
	switch p := p.(type) {
	case weir.TokenBucket:
		return weir.TokenBucket{Limit: by(p.Limit), Per: p.Per, Burst: by(p.Burst)}, nil
	case weir.LeakyBucket:
		return weir.LeakyBucket{Limit: by(p.Limit), Per: p.Per, Capacity: by(p.Capacity)}, nil
	case weir.FixedWindow:
		p.Limit = by(p.Limit)
		return p, nil
	case weir.SlidingWindow:
		p.Limit = by(p.Limit)
		return p, nil
	case weir.SlidingLog:
		p.Limit = by(p.Limit)
		return p, nil
	case weir.CalendarWindow:
		p.Limit = by(p.Limit)
		return p, nil
	case weir.SingleRateMarker:
		c := p.Committed
		p.Committed = weir.TokenBucket{Limit: by(c.Limit), Per: c.Per, Burst: by(c.Burst)}
		p.Excess = by(p.Excess)
		return p, nil
	case weir.TwoRateMarker:
		for _, b := range []*weir.TokenBucket{&p.Committed, &p.Peak} {
			*b = weir.TokenBucket{Limit: by(b.Limit), Per: b.Per, Burst: by(b.Burst)}
		}
		// Rounded, Peak may be slower than Committed, which no TwoRateMarker may be.
		p.Peak.Limit = max(p.Peak.Limit, asFast(p.Committed, p.Peak.Per))
		if p.Peak.Limit == math.MaxInt { // it cannot be as fast
			p.Committed.Limit = min(p.Committed.Limit, asSlow(p.Peak, p.Committed.Per))
		}
		return p, nil
	}
	components := weir.Components(p)
	if components == nil {
		return nil, fmt.Errorf("policy %v is of another package: its limit cannot be changed", p)
	}
	var parts []weir.Policy
	for _, c := range components {
		part, err := scale(c, by)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if explain.IsTiers(p) {
		return weir.Tiers(parts...), nil
	}
	return weir.All(parts...), nil
}
