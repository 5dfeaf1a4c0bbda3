package change

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// sound is a store that breaks no rule.
type sound struct{ *weir.MemStore }

// A broken store is a sound one but for one thing. The rules must find it soon.
type broken struct {
	sound
	breaks func(s *sound, r *weir.Request) (instead *weir.Answer)
	after  func(a *weir.Answer)
}

func (b *broken) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if b.breaks != nil {
		if a := b.breaks(&b.sound, &r); a != nil {
			return *a, nil
		}
	}
	a, err := b.sound.Do(ctx, r)
	if b.after != nil {
		b.after(&a)
	}
	return a, err
}

func TestBrokenStores(t *testing.T) {
	windows := several(one(weir.FixedWindow{Limit: 10, Per: time.Hour}), one(weir.SlidingLog{Limit: 7, Per: time.Hour}))
	numbers := several(one(weir.FixedWindow{Limit: 10, Per: time.Hour}), one(weir.FixedWindow{Limit: 20, Per: time.Hour}))
	bucket := several(one(weir.TokenBucket{Limit: 2, Per: time.Second}))
	for _, test := range []struct {
		name     string
		policies []tree
		store    broken
		rules    []string
	}{
		{"each policy has an allowance of its own", windows, broken{breaks: func(_ *sound, r *weir.Request) *weir.Answer {
			r.Key += fmt.Sprintf("%T", r.Policy)
			return nil
		}}, []string{"R13 at one instant"}},
		{"a denied ask is charged", windows, broken{breaks: func(s *sound, r *weir.Request) *weir.Answer {
			if a, _ := s.Do(context.Background(), *r); a.Allowed || r.N <= 0 || r.N > a.Limit {
				return &a
			}
			r.Mode = weir.Regardless
			a, _ := s.Do(context.Background(), *r)
			a.Allowed, a.RetryAfter = false, time.Minute
			return &a
		}}, []string{"R14 denied asks and looks change nothing", "R14 a change shuts no key", "R4 RetryAfter is tight"}},
		{"what is given back is freed twice", windows, broken{after: nil, breaks: func(s *sound, r *weir.Request) *weir.Answer {
			if r.N < 0 {
				again := *r
				again.N, again.GrantedAt = -1, 0
				_, _ = s.Do(context.Background(), again)
			}
			return nil
		}}, []string{overASpanRule, "R13 at one instant"}},
		{"a cancelled booking is freed under the promises behind it", bucket, broken{breaks: func(s *sound, r *weir.Request) *weir.Answer {
			if r.N >= 0 {
				return nil
			}
			look, _ := s.Do(context.Background(), weir.Request{Plan: r.Plan, Key: r.Key})
			charges := []weir.Charge{{N: -r.N, For: look.ResetAfter}}
			r.GrantedAt, r.Charges = max(look.At, 1), &charges // as if it were the last
			return nil
		}}, []string{overASpanRule}},
		{"a give-back does not name its grant", numbers, broken{breaks: func(_ *sound, r *weir.Request) *weir.Answer {
			r.GrantedAt = 0
			return nil
		}}, []string{stillCountsRule}},
		{"a RetryAfter is 1 ns too long", windows, broken{after: func(a *weir.Answer) {
			if a.RetryAfter > 0 && a.RetryAfter < weir.Never {
				a.RetryAfter++
			}
		}}, []string{"R4 RetryAfter is tight"}},
		{"one too few remain", windows, broken{after: func(a *weir.Answer) { a.Remaining = max(a.Remaining-1, 0) }}, []string{"R5 Remaining", "R15 what stays is exact"}},
		{"a changed limit counts in proportion", numbers, broken{breaks: func(_ *sound, r *weir.Request) *weir.Answer {
			if p, ok := r.Policy.(weir.FixedWindow); ok && p.Limit == 20 && r.N > 1 {
				r.N = (r.N + 1) / 2
			}
			return nil
		}}, []string{"R15 what stays is exact", overASpanRule, "R13 at one instant"}},
		{"a debt is forgiven", bucket, broken{breaks: func(_ *sound, r *weir.Request) *weir.Answer {
			if r.Mode == weir.Regardless {
				r.N = 1
			}
			return nil
		}}, []string{"R19 a debt binds"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Suite{policies: test.policies, t: t, New: func(weir.Clock) weir.Store {
				return &broken{sound: sound{new(weir.MemStore)}, breaks: test.store.breaks, after: test.store.after}
			}}
			for seed := uint64(1); seed < 3000; seed++ {
				if v, _ := s.fails(drawTrial(seed, test.policies, 1)); v != nil && slices.Contains(test.rules, v.rule) {
					t.Logf("after %d trials: %s", seed, v.rule)
					return
				}
			}
			t.Errorf("3000 trials found none of %q", test.rules)
		})
	}
}
