package weir

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/text"
)

// plans are the policies of a limiter: one for all keys, or others for some.
type plans struct {
	usual  atomic.Pointer[Plan] // of the policy that New or SetPolicy was given
	name   string
	named  bool // set with WithName, even if the name is empty
	clock  *clock.Nanos
	forKey func(ctx context.Context, k string) Policy // or nil

	known *knownPlans // what forKey returned
}

// WithPolicyFor sets a function that chooses the policy of each key, such as the plan of a
// customer. If it returns nil or a nil pointer, the key has the limiter's policy: that of [New] or
// of the last [KeyedLimiter.SetPolicy].
//
// Most methods call the function once. [KeyedLimiter.Wait], [KeyedLimiter.Reserve], SetPolicy and
// Reset may call it several times. Settle and Cancel do not call it. Calls can be concurrent. The
// function gets the context of the call: over HTTP or gRPC, the request's context. If middleware
// joins or hashes keys, the key may not show the customer: find the customer in this context.
// [KeyedLimiter.Allow] has no context and passes context.Background(). The function should look the
// policy up in memory, not over a network.
//
// The function must not call the limiter, because such a call may never end. If the function
// returns a pointer, the policy behind it must not change. For a changed policy, return another
// pointer.
//
// The limiter prepares a policy, and usually keeps it ready:
//
//   - A policy that is ready costs one lookup in a map, without an allocation if the function
//     returns a stored Policy.
//   - About 100,000 different policies can be kept ready. After the first thousand, a policy is
//     usually kept only when the function returns it a second time.
//   - Other policies are prepared again each time: those beyond the 100,000, those unused for long,
//     and those that are not comparable.
//
// No policy of this package grants everything or denies everything. For a key without a limit, do
// not call the limiter. In httplimit, let Key return ErrSkip. Do not return nil from the function
// of WithPolicyFor: the key would get the limiter's policy. If a configuration lacks a plan, the
// Policy of its empty [AnyPolicy] is nil, too. Refuse a blocked key before you call the limiter.
// docs/limits.md has an example with plans, one of them unlimited.
//
// If the policy of a key changes, its events still count: see [KeyedLimiter.SetPolicy]. If the
// function returns an invalid policy, the call fails, and Allow returns false.
func WithPolicyFor(policy func(ctx context.Context, key string) Policy) Option {
	return func(k unfinished) error {
		if policy == nil {
			return errors.New("weir: WithPolicyFor(nil), must be a function")
		}
		k.plans.forKey, k.plans.known = policy, newKnownPlans()
		return nil
	}
}

// SetPolicy replaces the policy of a limiter in use. If [WithPolicyFor] chooses a policy for a key,
// the key keeps it. Other limiters of the same name keep theirs.
//
// A change gives no key a fresh allowance, and locks no key out:
//
//   - If only the Limit of a window or log changes, or only the Burst, Capacity or Excess of a
//     bucket or marker, the counted events stay counted. If the limit is raised, a key that had
//     just used up the old one can use the difference at once. With a [LeakyBucket], the queue
//     instead has room for the difference.
//   - After most other changes, the used-up share of the old policy is charged to the new one. If
//     half of the old limit is used up, half of the new limit counts as used up. This charge ends
//     when the old policy no longer counts its events. It lasts at most for the time in which the
//     new policy recovers from a fully used allowance (for a [SlidingWindow]: Per). That time
//     usually begins with the first request for events after the change.
//   - After the charge has ended, events of the old policy only lengthen ResetAfter, until they
//     expire. If the old policy is set again before they expire, it counts them.
//   - Components that both policies have, in [All] or in [Tiers], keep their counts.
//
// docs/limits.md has tables of changes, including changes of Tiers, and says how long a charge
// lasts. To start afresh, give the limiter another name, or call [KeyedLimiter.Reset] for one key.
//
// Callers that wait in [KeyedLimiter.Wait] get new turns, in the same order. With a faster policy,
// the turns usually come sooner. If the policy is the same as before, callers keep their places. A
// Wait fails if the new policy can never grant the events, grants them only after the deadline of
// Wait's context, or has no room in its queue. It may fail some time after the change: at the
// latest when all callers before it have booked or gone.
//
// SetPolicy asks the store for the new turns one after the other. With a bucket, which books a turn
// for each call, a thousand waiting calls of a key take about a thousand times as long as one
// answer of the store. Meanwhile none of them is served. New calls of Wait and Reserve for the key,
// and calls that give back, are held up, too.
//
// If p is invalid, SetPolicy returns an error and changes nothing. Other errors are those of the
// store, of ctx, or of a policy that the function of [WithPolicyFor] returned. The policy is then
// changed, but some waiting calls may have kept their old turns, or failed with such an error. If
// the store fails while the bookings of waiting calls are given back, these calls and those before
// them keep their old turns, even after a later SetPolicy.
func (k *KeyedLimiter) SetPolicy(ctx context.Context, p Policy) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	plan, err := k.plans.newPlan(valueOf(p))
	if err != nil {
		return err
	}
	k.plans.usual.Store(plan)
	for _, key := range k.lines.Keys() {
		err = errors.Join(err, k.renew(ctx, key, false))
	}
	return failed("SetPolicy", err)
}

// PlanOf is for implementers of middleware. It returns the Plan with which the limiter decides on
// key. The policy of the Plan is the one that the function of [WithPolicyFor] returns. If there is
// no such function, or it returns nil, the Plan has the policy of the limiter. PlanOf does not call
// the store. As long as the policy is the same, PlanOf usually returns the same *Plan. PlanOf
// returns an error if the policy that the function returns is invalid. In the Accept method of a
// store, it also does so if the policy given to New is invalid. PlanOf is safe for concurrent use.
func (k *KeyedLimiter) PlanOf(ctx context.Context, key string) (*Plan, error) {
	if k == nil || k.store == nil {
		return nil, errNotMade
	}
	plan, err := k.plans.of(ctx, key)
	if plan == nil && err == nil { // a store's Accept asks, in a New that fails
		err = errors.New("weir: the limiter has no Plan, because its policy is invalid")
	}
	return plan, err
}

// newPlan prepares a policy for use.
func (p *plans) newPlan(policy Policy) (*Plan, error) {
	if isNil(policy) {
		return nil, fmt.Errorf("weir: the Policy is %s, must be one", nilText(policy))
	}
	decider, err := deciderOf(policy)
	if err != nil {
		return nil, err
	}
	return &Plan{Name: p.name, Policy: policy, Decider: decider, clock: p.clock}, nil
}

// of returns the plan of a key. The compiler inlines it only in this form, with usual as the first
// field. Allow, which has one plan in most limiters, then takes a twentieth fewer instructions.
func (p *plans) of(ctx context.Context, key string) (plan *Plan, err error) {
	if plan = p.usual.Load(); p.forKey != nil {
		plan, err = p.chosen(ctx, key)
	}
	return
}

func (p *plans) chosen(ctx context.Context, key string) (*Plan, error) {
	policy := p.forKey(ctx, key)
	if policy == nil {
		return p.usual.Load(), nil
	}
	plan, ok := p.known.find(policy)
	if plan != nil {
		return plan, nil
	}
	if isNil(policy) { // asked this late, it costs the others nothing
		return p.usual.Load(), nil
	}
	plan, err := p.newPlan(policy) // which may take long, so others don't wait for it
	switch {
	case err != nil:
		return nil, errors.Join(text.Within("the policy that WithPolicyFor's function returned", err)...)
	case !ok:
		return plan, nil
	}
	return p.known.keep(plan), nil
}

const (
	knownAtOnce = 1 << 10 // policies of a generation that are remembered when they are asked for first
	maxKnown    = 1 << 17 // policies in a generation

	askedBits = 1 << 20
	maxAsked  = askedBits / 8 // bits that are set
)

// knownPlans keeps prepared policies that a function of [WithPolicyFor] returned.
//
// It has two generations. A policy that is asked for is put into the young one, whether it is new
// or comes from the old one. When the young one is full it becomes the old one, and the old one is
// dropped.
//
// The first thousand new policies of a generation are kept at once, the others from their second
// call. For this, a bit is set for the hash of each. A generation also ends when one in eight bits
// is set. If a function makes up new policies all the time, few of them are kept: those whose bit
// another policy has set. They are about one in sixteen of the 130,000 that a generation then sees.
type knownPlans struct {
	seed       maphash.Seed
	young, old atomic.Pointer[planTable]

	mu    sync.Mutex // guards what follows, and writes to the tables
	size  int        // policies in young
	asked []uint64   // the bits; nil until they are needed
	set   int        // how many of them are set
}

func newKnownPlans() *knownPlans {
	k := &knownPlans{seed: maphash.MakeSeed()}
	k.turn()
	k.turn()
	return k
}

func (k *knownPlans) hash(policy Policy) uint64 { return maphash.Comparable(k.seed, policy) }

// find looks a policy up in the young generation. ok is false if the policy cannot be compared, and
// therefore cannot be kept. To check that first would take longer than the look-up.
func (k *knownPlans) find(policy Policy) (plan *Plan, ok bool) {
	defer func() { _ = recover() }()
	_, plan = k.young.Load().slot(k.hash(policy), policy)
	return plan, true
}

// keep stores plan, if it is time to, and returns it, or the plan that is kept of an equal policy.
func (k *knownPlans) keep(plan *Plan) *Plan {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash, young := k.hash(plan.Policy), *k.young.Load()
	if 2*k.size >= len(young) {
		young = k.widen()
	}
	slot, known := young.slot(hash, plan.Policy)
	if known != nil {
		return known
	}
	if _, known = k.old.Load().slot(hash, plan.Policy); known != nil {
		plan = known
	} else if k.size >= knownAtOnce && !k.mark(hash) {
		return plan
	}
	slot.Store(plan)
	if k.size++; k.size == maxKnown {
		k.turn()
	}
	return plan
}

// mark sets the bit of a hash, and reports whether it was set before. k.mu must be held.
func (k *knownPlans) mark(hash uint64) bool {
	if k.asked == nil {
		k.asked = make([]uint64, askedBits/64)
	}
	word, bit := &k.asked[hash>>32%(askedBits/64)], uint64(1)<<(hash>>58)
	known := *word&bit != 0
	*word |= bit
	if !known {
		if k.set++; k.set == maxAsked {
			k.turn()
		}
	}
	return known
}

// turn starts a new generation. It requires that k.mu is held.
func (k *knownPlans) turn() {
	k.old.Store(k.young.Swap(&planTable{{}, {}}))
	clear(k.asked)
	k.size, k.set = 0, 0
}

// widen makes young twice as wide. It requires that k.mu is held.
func (k *knownPlans) widen() planTable {
	narrow := *k.young.Load()
	young := make(planTable, 2*len(narrow))
	for i := range narrow {
		if s := narrow[i].Load(); s != nil {
			slot, _ := young.slot(k.hash(s.Policy), s.Policy)
			slot.Store(s)
		}
	}
	k.young.Store(&young)
	return young
}

// A planTable is a hash table of plans by their policies, which is read without a lock. Nothing is
// ever taken out of it, and it is at most half full. The number of slots is a power of two.
type planTable []atomic.Pointer[Plan]

// slot is where the plan of a policy is, and that plan, or an empty slot where it may be put. Another
// goroutine may fill that slot meanwhile, perhaps with another plan.
func (t planTable) slot(hash uint64, policy Policy) (*atomic.Pointer[Plan], *Plan) {
	for i := hash; ; i++ {
		slot := &t[i&uint64(len(t)-1)]
		if plan := slot.Load(); plan == nil || plan.Policy == policy {
			return slot, plan
		}
	}
}
