package kit

import (
	"slices"
	"testing"

	"github.com/weir-go/weir"
)

// A Key is a policy as a pure function: one key's state, asked at instants.
type Key struct {
	weir.Decider
	State []uint64
}

// NewKey is a key that has never been seen.
func NewKey(t *testing.T, p weir.Policy) *Key {
	t.Helper()
	d, err := p.Decider()
	NoError(t, err)
	return &Key{d, make([]uint64, d.Words())}
}

// Ask lets the policy decide, and keeps the state that it leaves.
func (k *Key) Ask(now int64, ask weir.Ask) weir.Answer {
	var a weir.Answer
	k.State, a = k.Decide(k.State, now, ask)
	return a
}

// Take asks for n events now.
func (k *Key) Take(now int64, n int) weir.Result { return k.Ask(now, weir.Ask{N: n}).Result }

// Look asks for none.
func (k *Key) Look(now int64) weir.Result { return k.Take(now, 0) }

// Fill takes all events that there are, from one part after the other if each part has its own, and
// returns their number. It returns -1 if some of them were denied.
func (k *Key) Fill(now int64) int {
	sum := 0
	for n := k.Look(now).Remaining; n > 0; n = k.Look(now).Remaining {
		if !k.Take(now, n).Allowed {
			return -1
		}
		sum += n
	}
	return sum
}

// Copy is a key of its own in the same state.
func (k *Key) Copy() *Key { return &Key{k.Decider, slices.Clone(k.State)} }

// A LedgerKey is a key that any policy may ask, as a store keeps it. The zero value with T is a key
// that has never been seen.
type LedgerKey struct {
	T *testing.T
	weir.Ledger
}

// Ask lets the policy decide, and keeps the Ledger that it leaves.
func (k *LedgerKey) Ask(p weir.Policy, now int64, ask weir.Ask) weir.Answer {
	k.T.Helper()
	d, err := p.Decider()
	NoError(k.T, err)
	next, a, changed, err := k.Decide(weir.Rule{Policy: p, Decider: d}, now, ask)
	NoError(k.T, err)
	if changed {
		k.Ledger = next
	}
	return a
}

// Fill takes single events until one is denied, and returns how many were granted.
func (k *LedgerKey) Fill(p weir.Policy, now int64) int {
	k.T.Helper()
	for n := 0; ; n++ {
		if !k.Ask(p, now, weir.Ask{N: 1}).Allowed {
			return n
		}
	}
}

// Remaining is what a look by the policy returns.
func (k *LedgerKey) Remaining(p weir.Policy, now int64) int {
	k.T.Helper()
	return k.Ask(p, now, weir.Ask{}).Remaining
}
