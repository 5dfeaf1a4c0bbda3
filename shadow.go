package weir

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Shadowed is a [Limiter] that is tried out on live traffic, made by [Shadow]. It is safe for concurrent use, as
// the limiter that it asks is.
type Shadowed struct {
	limiter Limiter
	observe func(Refusal)
	share   atomic.Uint64 // of the keys, those are enforced whose hash of 53 bits is below it
}

var _ Limiter = (*Shadowed)(nil)

// A Refusal is what a [Shadowed] limiter refused, or would have.
type Refusal struct {
	Key      string
	N        int    // the events asked for
	Result   Result // of Take and Wait; zero for Allow, which learns no more than that, and with an Err
	Err      error  // why there was no decision, or why Wait failed; or nil
	Enforced bool   // whether it was refused in fact
}

// Shadow returns a limiter that refuses nothing. It asks l, which counts as ever, and tells observe
// what l would have refused. So a limit can be watched on live traffic before it is switched on, and
// then be switched on for a share of it, by [Shadowed.Enforce].
//
// An event that l denied is granted, and not counted by l; so what observe hears of is what would have
// been refused if the clients had gone on as they did. An error of l is told to observe and
// is a grant, but for an ended context and an n below 0. Wait does not wait: it asks as Take does.
// For the keys that are enforced all is as with l: its answers, its errors, and its Wait.
//
// Observe is called in the course of the call, concurrently; nil stands for nobody. Shadow panics if l
// is nil.
func Shadow(l Limiter, observe func(Refusal)) *Shadowed {
	if l == nil {
		panic("weir: Shadow(nil, ...), must be a Limiter")
	}
	if observe == nil {
		observe = func(Refusal) {}
	}
	return &Shadowed{limiter: l, observe: observe}
}

// Enforce sets the share of the keys for which the limiter refuses in fact: from 0, as at first, to 1.
// It may be changed at any time. Whether a key is among them depends on the key and the share alone;
// so it is the same in all processes, and a larger share has all keys of a smaller one.
func (s *Shadowed) Enforce(share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("weir: Enforce(%v), must be from 0 to 1", share)
	}
	s.share.Store(uint64(share * (1 << 53)))
	return nil
}

// Allow implements [Limiter].
func (s *Shadowed) Allow(key string) bool {
	if s.limiter.Allow(key) {
		return true
	}
	enforced := s.enforces(key)
	s.observe(Refusal{Key: key, N: 1, Enforced: enforced})
	return !enforced
}

// Take implements [Limiter]. The Result of what would have been refused is that of the limiter, but
// allowed, with a RetryAfter of 0; if there was an error, it is zero but for that.
func (s *Shadowed) Take(ctx context.Context, key string, n int) (Result, error) {
	return s.take(ctx, key, n, s.enforces(key))
}

func (s *Shadowed) take(ctx context.Context, key string, n int, enforced bool) (Result, error) {
	r, err := s.limiter.Take(ctx, key, n)
	if err == nil && r.Allowed || err != nil && (n < 0 || ctx.Err() != nil) {
		return r, err
	}
	s.observe(Refusal{Key: key, N: n, Result: r, Err: err, Enforced: enforced})
	if enforced {
		return r, err
	}
	r.Allowed, r.RetryAfter = true, 0
	return r, nil
}

// Wait implements [Limiter].
func (s *Shadowed) Wait(ctx context.Context, key string, n int) error {
	if !s.enforces(key) {
		_, err := s.take(ctx, key, n, false)
		return err
	}
	err := s.limiter.Wait(ctx, key, n)
	if err != nil && n >= 0 && ctx.Err() == nil {
		s.observe(Refusal{Key: key, N: n, Err: err, Enforced: true})
	}
	return err
}

// enforces tells whether a key belongs to the share. The hash is FNV-1a, with its bits mixed since its
// upper ones hardly differ for short keys.
func (s *Shadowed) enforces(key string) bool {
	share := s.share.Load()
	if share == 0 {
		return false
	}
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0x9e3779b97f4a7c15
	return (h^h>>32)>>11 < share
}
