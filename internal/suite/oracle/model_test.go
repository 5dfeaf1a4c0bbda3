package oracle

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
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
	d, err := p.Decider()
	if err != nil {
		panic(err)
	}
	inWord := d.Words() == 1
	switch p := p.(type) {
	case weir.TokenBucket:
		size, event := or(p.Burst, p.Limit), eventTime(p.Limit, p.Per)
		return tokenModel{perToken: event, size: size, tokens: rat(int64(size)), end: endOfTime(inWord, event)}
	case weir.LeakyBucket:
		event := eventTime(p.Limit, p.Per)
		return queueModel{perEvent: event, capacity: or(p.Capacity, p.Limit), slot: new(big.Rat), end: endOfTime(inWord, event)}
	case weir.FixedWindow:
		return windowModel{per: int64(p.Per), fromFirst: p.FromFirst, tally: tally{p.Limit, mostCounted(inWord, p.Per, 1)}}
	case weir.SlidingWindow:
		k := or(p.Buckets, 1)
		width := p.Per / time.Duration(k)
		return slidingModel{width: int64(width), buckets: int64(k), tally: tally{p.Limit, mostCounted(inWord, width, 2)}}
	case weir.SlidingLog:
		return logModel{per: int64(p.Per), tally: tally{p.Limit, big.NewInt(math.MaxInt64)}}
	}
	panic(fmt.Sprintf("no model of a %T", p))
}

// endOfTime is where the debts of a bucket end, in nanoseconds: those that reach it are not told
// apart. It is in the year 2554 if the state is a word, and else later than any booking.
func endOfTime(inWord bool, event *big.Rat) *big.Rat {
	if inWord {
		return new(big.Rat).SetUint64(math.MaxUint64 - 1)
	}
	return over(times(rat(3), pow2(126)), new(big.Rat).SetInt(event.Denom()))
}

// mostCounted is where the counts of a window end: those that reach it are not told apart. A word
// has a bit to spare, the number of the window, and as many counts as that.
func mostCounted(inWord bool, width time.Duration, counts int) *big.Int {
	if !inWord {
		return new(big.Int).SetUint64(math.MaxUint64)
	}
	size := (63 - bits.Len64(uint64(math.MaxInt64/width))) / counts
	return big.NewInt(1<<size - 1)
}

func pow2(n uint) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), n)) }

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
