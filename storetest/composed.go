package storetest

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// unscripted are policies of package weir that a store is not likely to have a way of its own for: those that
// are composed of others, and those whose time is not a number. Together with the shapes they
// are all that there is. They grant limit events in all, if no ask is for more than a few. For limit and per
// the same holds as for shapes; limit must be at least 5.
func unscripted(limit int, per time.Duration) []named {
	first := max(limit/3, 1)
	return append(conserving(limit, per),
		named{"Tiers", weir.Tiers(
			weir.SlidingLog{Limit: first, Per: per},
			weir.TokenBucket{Limit: limit - first, Per: per})},
		named{"TwoRateMarker", weir.TwoRateMarker{
			Committed: weir.TokenBucket{Limit: first, Per: per},
			Peak:      weir.TokenBucket{Limit: limit, Per: per},
		}})
}

const allOfBuckets = "All of buckets"

// conserving are those of them that undo by giving back. The others may lose what comes back, or charge it to
// another part: nobody tells them which part had paid.
func conserving(limit int, per time.Duration) []named {
	excess, unit := max(limit/16, 1), weir.Year
	if per < time.Minute {
		unit = weir.Minute
	}
	return []named{
		{"All", weir.All(
			weir.FixedWindow{Limit: 2 * limit, Per: 5 * per},
			weir.SlidingLog{Limit: limit, Per: per}, // grows, and so is kept last
			weir.TokenBucket{Limit: limit, Per: 2 * per, Burst: 3 * limit})},
		{allOfBuckets, weir.All(
			weir.TokenBucket{Limit: limit, Per: per},
			weir.TokenBucket{Limit: limit, Per: 5 * per, Burst: 2 * limit})},
		{"All of Tiers", weir.All(
			weir.Tiers(weir.TokenBucket{Limit: limit, Per: per}, weir.FixedWindow{Limit: limit, Per: per}),
			weir.CalendarWindow{Limit: limit, Unit: unit})},
		{"CalendarWindow", weir.CalendarWindow{Limit: limit, Unit: unit}},
		{"SingleRateMarker", weir.SingleRateMarker{
			Committed: weir.TokenBucket{Limit: limit - excess, Per: per},
			Excess:    excess,
		}},
	}
}

// R10: the answers to many who ask at once are those to as many who ask one after the other. For if all ask
// for the same there is only one order to ask in. A store that asks once for several callers has to tell
// each of them what it would have been told alone.
func concurrentAnswers(e *env) {
	const each = 3
	for _, p := range append(shapes(10, e.long()), custom(e.long())...) {
		l, m := e.limiter(p.Policy, p.name), e.model(p.Policy)
		for _, ask := range []weir.Ask{
			{N: 1},
			{N: -1},
			{N: 2},
			{N: -3},
			{N: 3, How: weir.UpTo},
			{N: -4},
			{N: 1, MaxWait: weir.Never},
			{N: 2, How: weir.Regardless},
			{},
		} {
			told := make(chan string, goroutines*each)
			parallel(goroutines, func(int) {
				for range each {
					told <- e.whole(ask, func(ask weir.Ask) weir.Answer { return e.ask(l, "k", ask) })
				}
			})
			close(told)
			differ, wanted := map[string]int{}, map[string]int{}
			for got := range told {
				differ[got]++
				want := e.whole(ask, func(ask weir.Ask) weir.Answer { return m.do("k", e.clock.Now(), ask) })
				differ[want]--
				wanted[want]++
			}
			for answer, times := range differ {
				if times != 0 {
					e.Fatalf("%s: %s: of %d who asked for %+v at once, %d were told %s; one after the other, %d are",
						r10, p.name, goroutines*each, ask, wanted[answer]+times, answer, wanted[answer])
				}
			}
		}
	}
}

// whole is an answer with the results of the parts, as far as they can be compared.
func (e *env) whole(ask weir.Ask, do func(weir.Ask) weir.Answer) string {
	var parts []weir.Result
	ask.Parts = &parts
	a := e.seen(do(ask), ask)
	for i := range parts {
		parts[i] = e.seen(weir.Answer{Result: parts[i]}, weir.Ask{}).Result
	}
	return fmt.Sprintf("%+v, and of the parts %+v", a, parts)
}

// Change of composed policies: two limiters of one name with policies that are composed, or one of them
// and another, get, request by request, what a Ledger decides.
func changeOfComposed(e *env) {
	const per = 10 * 7 * time.Second
	olds, news := unscripted(7, per), unscripted(14, per/2)
	for i, p := range olds {
		// One of its kind, one of another, and one that a store may have a way of its own for, in turn.
		shape := shapes(14, per/2)[i%len(shapes(14, per/2))]
		for _, q := range []named{news[i], news[(i+3)%len(news)], shape} {
			name := p.name + " and " + q.name
			w := e.walk(changeRule, p.Policy, 3, e.limiter(p.Policy, name), e.limiter(q.Policy, name))
			w.model, w.by = e.model(p.Policy, q.Policy), []int{0, 1}
			w.run(e.few(500))
		}
	}
}
