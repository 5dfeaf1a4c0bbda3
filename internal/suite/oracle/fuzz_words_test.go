package oracle

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// FuzzR21_AnyWords hands Deciders and Ledgers words that they have left, such with bits flipped,
// and any others. They must return: a loop that runs on a number from the state shows as an input
// that takes too long.
func FuzzR21_AnyWords(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes[:min(len(bytes), 4000)]}
		if tp.byte()%2 == 0 {
			tp.anyWordsOfALedger(t)
			return
		}
		rule := tp.rule()
		state := make([]uint64, rule.Decider.Words())
		for now := tp.instant(); len(tp.rest) > 0; now = tp.later(now) {
			require.NoError(t, weir.CheckState(rule.Decider, state), "%#v left %v", rule.Policy, state)
			tp.askAny(t, rule.Decider, tp.words(state))
			state, _ = rule.Decider.Decide(state, now, tp.anyAsk())
		}
	})
}

// askAny asks about words that are any.
func (tp *tape) askAny(t *testing.T, d weir.Decider, words []uint64) {
	now, ask := tp.instant(), tp.anyAsk()
	if err := weir.CheckState(d, words); err != nil {
		require.ErrorIs(t, err, weir.ErrRequest)
	}
	d.Expiry(slices.Clone(words))
	if w, ok := d.(weir.WordDecider); ok && len(words) > 0 {
		w.DecideWord(words[0], now, ask)
	}
	for range 3 {
		words, _ = d.Decide(words, now, ask)
		now, ask = tp.later(now), tp.anyAsk()
	}
}

// anyWordsOfALedger asks Ledgers of up to five policies.
func (tp *tape) anyWordsOfALedger(t *testing.T) {
	rules := []weir.Rule{tp.rule()}
	for range tp.byte() % 5 {
		rules = append(rules, tp.ruleLike(rules))
	}
	var l weir.Ledger
	for now := tp.instant(); len(tp.rest) > 0; now = tp.later(now) {
		broken := weir.Ledger{By: slices.Clone(l.By), Plain: l.Plain, Words: tp.words(l.Words)}
		if tp.byte()%4 == 0 {
			broken.By, broken.Plain = rules[:1+int(tp.byte())%len(rules)], tp.byte()%2 == 0
		}
		by := pick(tp, rules...)
		if len(broken.By) > 0 {
			broken.Expiry()
			for range 3 {
				unsound := broken.Plain && weir.CheckState(broken.By[0].Decider, broken.Words) != nil
				next, _, _, err := broken.Decide(by, tp.instant(), tp.anyAsk())
				if err != nil {
					require.ErrorIs(t, err, weir.ErrRequest)
					break
				}
				require.False(t, unsound)
				broken = next
			}
		}

		next, _, changed, err := l.Decide(by, now, tp.anyAsk())
		require.NoError(t, err, "%v left %v", l.By, l.Words)
		require.True(t, changed || slices.Equal(next.Words, l.Words))
		l = next
		l.Expiry()
	}
}

// words are those of a state, some of them changed, or any.
func (tp *tape) words(state []uint64) []uint64 {
	words := slices.Clone(state)
	switch tp.byte() % 6 {
	case 0:
		words = make([]uint64, tp.byte()%16)
		for i := range words {
			words[i] = tp.word()
		}
	case 1:
		words = words[:min(int(tp.byte()), len(words))]
	case 2:
		for range 1 + tp.byte()%4 {
			words = append(words, tp.word())
		}
	}
	for range tp.byte() % 5 {
		if len(words) > 0 {
			i := int(tp.byte()) % min(len(words), 24)
			words[i] = pick(tp, words[i]^1<<(tp.byte()%64), words[i]+1, words[i]-1, tp.word())
		}
	}
	return words
}

func (tp *tape) word() uint64 {
	return pick(tp, 0, 1, math.MaxUint64, math.MaxInt64, 1<<63, math.MaxUint64-uint64(tp.byte()), uint64(tp.byte()),
		tp.uint64(), uint64(tp.any(math.MaxInt64)), uint64(kit.T0))
}

func (tp *tape) instant() int64 {
	return pick(tp, 0, 1, kit.T0, kit.T0, kit.T0+tp.below(int64(time.Hour)), tp.any(math.MaxInt64), math.MaxInt64-1, math.MaxInt64)
}

func (tp *tape) later(now int64) int64 {
	return saturated(now, pick(tp, 0, 0, 1, tp.below(int64(time.Second)), tp.below(int64(time.Hour)), tp.any(math.MaxInt64)))
}

// anyAsk is an ask of every kind.
func (tp *tape) anyAsk() weir.Ask {
	ask := weir.Ask{N: pick(tp, 0, 1, 1, 2, int(tp.byte()), int(tp.any(math.MaxInt)), math.MaxInt, -1, -int(tp.byte()), -math.MaxInt, math.MinInt)}
	if ask.N > 0 {
		ask.Mode = pick(tp, weir.AllOrNone, weir.AllOrNone, weir.UpTo, weir.Regardless)
	}
	if ask.Mode == weir.AllOrNone {
		ask.MaxWait = pick(tp, 0, 0, 1, time.Second, weir.Never)
	}
	if tp.byte()%2 == 0 {
		charges := make([]weir.Charge, pick(tp, 0, 1, 1, int(tp.byte()%8)))
		for i := range charges {
			charges[i] = weir.Charge{N: int(tp.byte()), For: time.Duration(tp.any(math.MaxInt64)), ForRest: pick(tp, 0, 1, tp.word())}
		}
		ask.Charges = &charges
	}
	if ask.N < 0 {
		ask.GrantedAt = tp.instant()
	}
	if tp.byte()%8 == 0 {
		ask.ByComponent = new([]weir.Result)
	}
	return ask
}

// rule is any policy of this package.
func (tp *tape) rule() weir.Rule {
	for {
		p := tp.own(2)
		if len(tp.rest) == 0 {
			p = weir.FixedWindow{Limit: 1, Per: 1}
		}
		if d, err := p.Decider(); err == nil {
			return weir.Rule{Policy: p, Decider: d}
		}
	}
}

// ruleLike is any policy, or one with a part of another, or one of which the other is a part.
func (tp *tape) ruleLike(rules []weir.Rule) weir.Rule {
	p := pick(tp, rules...).Policy
	parts := append(weir.Components(p), p)
	part := pick(tp, parts...)
	q := pick(tp, part, weir.All(part), weir.Tiers(part, p), weir.All(parts...))
	if d, err := q.Decider(); err == nil && tp.byte()%2 == 0 {
		return weir.Rule{Policy: q, Decider: d}
	}
	return tp.rule()
}

func (tp *tape) own(depth int) weir.Policy {
	switch kind := tp.byte() % 10; {
	case kind < 3 && depth > 0:
		var parts []weir.Policy
		for range 1 + tp.byte()%3 {
			parts = append(parts, tp.own(depth-1))
		}
		return pick(tp, weir.All(parts...), weir.Tiers(parts...))
	case kind == 3:
		return weir.CalendarWindow{Limit: pick(tp, 5, 100, math.MaxInt), Unit: pick(tp, weir.Hour, weir.Month)}
	case kind == 4:
		return weir.SingleRateMarker{Committed: tp.bucket(), Excess: pick(tp, 0, 1, 10, int(tp.any(math.MaxInt)))}
	case kind == 5:
		return weir.TwoRateMarker{Committed: tp.bucket(), Peak: tp.bucket()}
	default:
		p, _ := tp.part()
		return p
	}
}
