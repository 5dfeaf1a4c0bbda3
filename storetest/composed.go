package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// unscripted are policies of package weir for which a store probably has no special code: composed
// policies, and those whose time is not a number. Together with the shapes they are all policies of
// the package. They grant limit events in all, if each ask is for a few at most. limit and per are
// restricted as for shapes. limit must be at least 5.
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

// conserving are those of unscripted that undo a grant completely when it is given back. The others
// may lose the events, or return them to another part, because they do not know which part was
// charged.
func conserving(limit int, per time.Duration) []named {
	excess, unit := max(limit/16, 1), weir.Year
	if per < time.Minute {
		unit = weir.Minute
	}
	return []named{
		{"All", weir.All(
			weir.FixedWindow{Limit: 2 * limit, Per: 5 * per},
			weir.SlidingLog{Limit: limit, Per: per}, // grows, so its state is kept last
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

// R10: concurrent asks get the same answers as asks one after another. All ask for the same, so
// their order does not matter. A store that makes one request for several callers has to give each
// of them the answer that it would have got alone.
func concurrentAnswers(e *env) {
	each := 3
	if testing.Short() {
		each = 1
	}
	for _, p := range append(shapes(10, e.long()), custom(e.long())...) {
		l, m := e.limiter(p.Policy, p.name), e.model(p.Policy)
		for _, ask := range []weir.Ask{
			{N: 1},
			{N: -1},
			{N: 2},
			{N: -3},
			{N: 3, Mode: weir.UpTo},
			{N: -4},
			{N: 1, MaxWait: weir.Never},
			{N: 2, Mode: weir.Regardless},
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

// whole returns an answer with the results of the parts, where they can be compared.
func (e *env) whole(ask weir.Ask, do func(weir.Ask) weir.Answer) string {
	var parts []weir.Result
	ask.ByComponent = &parts
	a := e.seen(do(ask), ask)
	for i := range parts {
		parts[i] = e.seen(weir.Answer{Result: parts[i]}, weir.Ask{}).Result
	}
	return fmt.Sprintf("%+v, and of the parts %+v", a, parts)
}

// Change of composed policies: two limiters of one name with different policies, of which one or
// both are composed. Request by request, they get the answers of a Ledger.
func changeOfComposed(e *env) {
	const per = 10 * 7 * time.Second
	olds, news := unscripted(7, per), unscripted(14, per/2)
	for i, p := range olds {
		// Policies in turn: one of the same kind, one of another, and one that a store may have
		// special code for.
		shape := shapes(14, per/2)[i%len(shapes(14, per/2))]
		for _, q := range []named{news[i], news[(i+3)%len(news)], shape} {
			name := p.name + " and " + q.name
			w := e.walk(changeRule, p.Policy, 3, e.limiter(p.Policy, name), e.limiter(q.Policy, name))
			w.model, w.by = e.model(p.Policy, q.Policy), []int{0, 1}
			w.run(max(e.few(500), 25))
		}
	}
}
