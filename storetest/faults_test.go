package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// The functions below are the faults of the broken stores. The first say for how long a store keeps
// a state that lives on for left ns,

func tickLess(left int64) int64   { return left - 1 }
func half(left int64) int64       { return left / 2 }
func atMostADay(left int64) int64 { return min(left, int64(24*time.Hour)) }
func minuteMore(left int64) int64 { return left + int64(time.Minute) }

func wholly(unit time.Duration) func(int64) int64 {
	return func(left int64) int64 { return left / int64(unit) * int64(unit) }
}

func atLeastASecond(left int64) int64 { return max(wholly(time.Second)(left), int64(time.Second)) }

// yields lets others run a few times, or not. If it always did so once, goroutines on a single
// processor would go in step, and undo in the second step what the first has spoilt.
func yields() {
	for range rand.IntN(4) {
		runtime.Gosched()
	}
}

func realTime() int64 { return time.Now().UnixNano() }

// how they make one string of name and key,

func keyAlone(_, key string) string { return key }

func lowerName(name, key string) string { return fmt.Sprintf("%q", strings.ToLower(name)) + key }

func joined(separator string) func(name, key string) string {
	return func(name, key string) string { return name + separator + key }
}

func mapped(f func(string) string) func(name, key string) string {
	return func(name, key string) string { return fmt.Sprintf("%q %s", name, f(key)) }
}

func cut(length int) func(name, key string) string {
	return mapped(func(key string) string { return key[:min(len(key), length)] })
}

func replaced(old, by string) func(string) string {
	return func(key string) string { return strings.ReplaceAll(key, old, by) }
}

func emptyAs(word string) func(string) string {
	return func(key string) string { return cmp.Or(key, word) }
}

func unnamedAs(word string) func(name, key string) string {
	return func(name, key string) string { return fmt.Sprintf("%q %s", cmp.Or(name, word), key) }
}

func crc(key string) string { return fmt.Sprint(crc32.ChecksumIEEE([]byte(key))) }

func fnv1a(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return fmt.Sprint(h.Sum32())
}

func gives(a weir.Ask) bool   { return a.N < 0 }
func waits(a weir.Ask) bool   { return a.MaxWait > 0 }
func hasMode(a weir.Ask) bool { return a.Mode != weir.AllOrNone }

func validUTF8(key string) string { return strings.ToValidUTF8(key, "\ufffd") }
func beforeNUL(key string) string { return strings.Split(key, "\x00")[0] }

// of what they make one request at a time,

func together(weir.Request) any    { return nil }
func byKey(r weir.Request) any     { return r.Key }
func byLimiter(r weir.Request) any { return r.Plan }
func byPolicy(r weir.Request) any  { return r.Policy }

// what they keep of a state,

func firstWord(words []uint64) []uint64 {
	return append(words[:1:1], make([]uint64, len(words)-1)...)
}

func first64kB(words []uint64) []uint64 { return words[:min(len(words), 1<<13)] }

func each(f func(uint64) uint64) func([]uint64) []uint64 {
	return func(words []uint64) []uint64 {
		kept := slices.Clone(words)
		for i := range kept {
			kept[i] = f(kept[i])
		}
		return kept
	}
}

func asFloat(word uint64) uint64  { return uint64(float64(word)) }
func of63Bits(word uint64) uint64 { return word &^ (1 << 63) }

func oneBuffer() func([]uint64) []uint64 {
	buffer := make([]uint64, 100)
	return func(words []uint64) []uint64 { return buffer[:copy(buffer, words)] }
}

// which policies they take for the same, and what they make of a state that another one left,

func never(_, _ weir.Policy) bool { return false }
func equal(a, b weir.Policy) bool { return a == b }

func startAnew(to weir.Decider, _ []uint64) []uint64 { return make([]uint64, to.Words()) }

func keepWords(to weir.Decider, words []uint64) []uint64 {
	return append(words, make([]uint64, max(to.Words()-len(words), 0))...)
}

// what they ask instead,

func dontBook(a *weir.Ask)     { a.MaxWait = 0 }
func dontGiveBack(a *weir.Ask) { a.N = max(a.N, 0) }

func countLooks(a *weir.Ask) {
	if a.N == 0 {
		a.N = 1
	}
}

func bookAnything(a *weir.Ask) {
	if a.MaxWait > 0 {
		a.MaxWait = weir.Never
	}
}

func bookTwice(a *weir.Ask) {
	if a.MaxWait > 0 {
		a.N *= 2
	}
}

func allOrNone(a *weir.Ask)  { a.Mode = weir.AllOrNone }
func latestBack(a *weir.Ask) { a.GrantedAt = 0 }
func dropParts(a *weir.Ask)  { a.ByComponent = nil }

func notLate(a *weir.Ask) {
	if a.N < 0 && a.Charges != nil {
		charges := slices.Clone(*a.Charges)
		for i := range charges {
			charges[i].Late = 0
		}
		a.Charges = &charges
	}
}

func noDebts(a *weir.Ask) {
	if a.Mode == weir.Regardless {
		a.Mode = weir.UpTo
	}
}

// what they forget when they are told to,

func forgetNothing(*sim, weir.Request, string) error { return nil }

func forgetAll(s *sim, _ weir.Request, _ string) error {
	clear(s.all)
	return nil
}

func forgetKnown(s *sim, _ weir.Request, id string) error {
	if _, ok := s.all[id]; !ok {
		return errors.New("no such key")
	}
	delete(s.all, id)
	return nil
}

func forgetOwn(s *sim, r weir.Request, id string) error {
	if by := s.all[id].By; len(by) == 1 && reflect.DeepEqual(by[0].Policy, r.Policy) {
		delete(s.all, id)
	}
	return nil
}

func forgetShort(s *sim, r weir.Request, id string) error {
	if len(r.Name+r.Key) <= 100 {
		delete(s.all, id)
	}
	return nil
}

func forgetNotEmpty(s *sim, r weir.Request, id string) error {
	if r.Key != "" {
		delete(s.all, id)
	}
	return nil
}

func forgetFolded(s *sim, r weir.Request, _ string) error {
	delete(s.all, s.id(strings.ToLower(r.Name), strings.ToLower(r.Key)))
	return nil
}

func forgetAndTake(s *sim, r weir.Request, id string) error {
	delete(s.all, id)
	st := s.read(id, 0)
	_, _, err := s.decide(&st, r, 0)
	s.write(id, st)
	return err
}

// when they keep what a Ledger has changed,

func whenGranted(ask weir.Ask, a weir.Answer) bool { return ask.N != 0 && a.Allowed }

// what they tell of the instant,

func inMillis(now int64) int64 { return now - now%int64(time.Millisecond) }
func untold(int64) int64       { return 0 }

// and what they answer.

func grantedUntold(_ weir.Ask, a *weir.Answer) { a.Granted = 0 }

func granted16Bits(_ weir.Ask, a *weir.Answer) { a.Granted = min(a.Granted, math.MaxUint16) }

func debts16Bits(a *weir.Ask) {
	if a.Mode == weir.Regardless {
		a.N = min(a.N, math.MaxUint16)
	}
}

func backs16Bits(a *weir.Ask) { a.N = max(a.N, -math.MaxUint16) }

func chargedOfNothing(ask weir.Ask, _ *weir.Answer) {
	if ask.N > 0 && ask.Charges != nil {
		for i := range *ask.Charges {
			(*ask.Charges)[i].Before, (*ask.Charges)[i].BeforeRest = 0, 0
		}
	}
}

func asBefore() func(weir.Ask, *weir.Answer) {
	var before weir.Answer
	steps := 0
	return func(ask weir.Ask, a *weir.Answer) {
		if steps++; steps%2 == 0 && ask.N == 1 && ask.Mode == weir.AllOrNone {
			a.Remaining = before.Remaining
		}
		before = *a
	}
}

func oneLess(_ weir.Ask, a *weir.Answer) { a.Remaining = max(a.Remaining-1, 0) }

func roundedDown(_ weir.Ask, a *weir.Answer) { a.RetryAfter = a.RetryAfter.Truncate(time.Millisecond) }

func nobodyMovesUp(ask weir.Ask, a *weir.Answer) {
	if ask.N < 0 {
		a.Delay = 0
	}
}

func wrap(_ weir.Ask, a *weir.Answer) {
	if a.ResetAfter == math.MaxInt64 {
		a.ResetAfter++
	}
}
