package weir_test

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir"
)

// A model answers as the rules of a policy say, in exact fractions and without any thought of
// speed. It is what the policies are held against. A model never changes: ask returns the one that
// the answer leaves behind.
type model interface {
	ask(now int64, ask weir.Ask) (weir.Answer, model)
}

// modelOf is the model of a key never seen.
func modelOf(p weir.Policy) model {
	switch p := p.(type) {
	case weir.TokenBucket:
		size := or(p.Burst, p.Limit)
		return tokenModel{eventTime(p.Limit, p.Per), size, rat(int64(size)), 0}
	case weir.LeakyBucket:
		return queueModel{eventTime(p.Limit, p.Per), or(p.Capacity, p.Limit), new(big.Rat), 0}
	case weir.FixedWindow:
		return windowModel{limit: p.Limit, per: int64(p.Per), fromFirst: p.FromFirst}
	case weir.SlidingWindow:
		k := or(p.Buckets, 1)
		return slidingModel{limit: p.Limit, width: int64(p.Per) / int64(k), buckets: int64(k)}
	case weir.SlidingLog:
		return logModel{limit: p.Limit, per: int64(p.Per)}
	}
	panic(fmt.Sprintf("no model of a %T", p))
}

func or(given, otherwise int) int {
	if given == 0 {
		return otherwise
	}
	return given
}

// eventTime is W/L, the nanoseconds that an event takes.
func eventTime(limit int, per time.Duration) *big.Rat {
	return big.NewRat(int64(per), int64(limit))
}

// never is the answer to more than ever fits, given the answer to a look.
func never(look weir.Answer) weir.Answer {
	look.Allowed, look.RetryAfter = false, weir.Never
	return look
}

func rat(n int64) *big.Rat            { return new(big.Rat).SetInt64(n) }
func plus(a, b *big.Rat) *big.Rat     { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat    { return new(big.Rat).Sub(a, b) }
func times(a, b *big.Rat) *big.Rat    { return new(big.Rat).Mul(a, b) }
func over(a, b *big.Rat) *big.Rat     { return new(big.Rat).Quo(a, b) }
func atMost(a, b *big.Rat) bool       { return a.Cmp(b) <= 0 }
func atLeastZero(a *big.Rat) *big.Rat { return larger(a, new(big.Rat)) }

func larger(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func smaller(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

// floor is a rounded down, and at most the largest int64.
func floor(a *big.Rat) int64 { return capped(new(big.Int).Div(a.Num(), a.Denom())) }

// ceil is a rounded up, and at most the largest int64.
func ceil(a *big.Rat) int64 {
	up := new(big.Int).Add(a.Num(), a.Denom())
	up.Sub(up, big.NewInt(1))
	return capped(up.Div(up, a.Denom()))
}

func capped(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return math.MaxInt64
}
