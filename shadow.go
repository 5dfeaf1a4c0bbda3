package weir

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Shadowed is a [Limiter] that tests another limiter on live traffic. [Shadow] makes it. It is safe
// for concurrent use if the limiter under test and the function observe are.
type Shadowed struct {
	limiter Limiter
	observe func(Refusal)
	share   atomic.Uint64 // keys are enforced whose hash of 53 bits is below it
}

var _ Limiter = (*Shadowed)(nil)

// A Refusal is a request that the limiter under test denied, or failed to decide: see [Shadow]. If
// the key is not enforced, a Wait that was not granted at once is a Refusal, too.
type Refusal struct {
	Key      string
	N        int    // the events asked for
	Result   Result // of Take or Wait; zero if Err is set, and for Allow, which has no details
	Err      error  // the error of Take or Wait; or nil
	Enforced bool   // whether it was really refused
}

// Shadow returns a limiter that refuses nothing at first (a dry run). It passes each request to l,
// which counts as usual, and calls observe for each request that l does not grant. Use it to watch
// a limit on live traffic before you enforce it. Then enforce it for a share of the keys, with
// [Shadowed.Enforce].
//
// For keys that are not enforced:
//
//   - A request that l denied is granted, and l does not count it. The calls of observe show what
//     would be refused if clients went on as they do now.
//   - If the context has ended or n is below 0, an error of l is returned, and observe is not
//     called.
//   - If l returns another error, observe gets the error, and the request is granted.
//   - Wait does not wait, and the MaxWait of a package such as httplimit has no effect: the Take of
//     l decides. A call of observe then means only that the request was not granted at once. If the
//     key were enforced, the request might have waited and been granted.
//   - If another limiter stands in front of this one, a package such as httplimit does not know
//     that it refuses nothing. If l takes longer than the MaxWait, the request may be refused.
//
// For keys that are enforced, the returned limiter answers as l does. If l refuses a request, a
// package such as httplimit with a MaxWait asks l again, to learn how long the client must wait.
// observe may then be called twice. It is not called if the request is refused because l took
// longer than the MaxWait.
//
// observe is called during the request, and calls can be concurrent. observe may be nil. Shadow
// panics if l is nil, or a nil pointer.
func Shadow(l Limiter, observe func(Refusal)) *Shadowed {
	if isNil(l) {
		panic("weir: Shadow(" + nilText(l) + ", ...), must be a Limiter")
	}
	if observe == nil {
		observe = func(Refusal) {}
	}
	return &Shadowed{limiter: l, observe: observe}
}

// Enforce sets the share of the keys for which the refusals of the limiter take effect, from 0 to
// 1. The share is 0 at first, and may be changed at any time. Only the key and the share decide
// whether a key is enforced. Processes with the same share therefore enforce the same keys, and a
// larger share includes all keys of a smaller one. A share that is not from 0 to 1 is an error, and
// changes nothing.
func (s *Shadowed) Enforce(share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("weir: Enforce(%v), must be from 0 to 1", share)
	}
	s.share.Store(uint64(share * (1 << 53)))
	return nil
}

// Allow implements [Limiter]. For a key that is not enforced, it returns true.
func (s *Shadowed) Allow(key string) bool {
	if s.limiter.Allow(key) {
		return true
	}
	enforced := s.Enforces(key)
	s.observe(Refusal{Key: key, N: 1, Enforced: enforced})
	return !enforced
}

// Take implements [Limiter]. For a key that is not enforced:
//
//   - If the limiter denied, the Result is the limiter's, with Allowed set and a RetryAfter of 0.
//   - If the limiter returned an error, other than for an ended ctx or an n below 0, the Result is
//     zero, with Allowed set, and the error is nil.
func (s *Shadowed) Take(ctx context.Context, key string, n int) (Result, error) {
	r, err := s.limiter.Take(ctx, key, n)
	return s.judge(ctx, key, n, r, err, s.Enforces(key))
}

// TakeByComponent is like [Shadowed.Take], but calls the limiter's method TakeByComponent, which a
// [KeyedLimiter] has. *results are those of the limiter, even if a request that the limiter denied
// is granted. If the limiter does not have the method, *results is empty.
func (s *Shadowed) TakeByComponent(ctx context.Context, key string, n int, results *[]Result) (Result, error) {
	l, ok := s.limiter.(interface {
		TakeByComponent(ctx context.Context, key string, n int, results *[]Result) (Result, error)
	})
	if !ok {
		empty(results)
		return s.Take(ctx, key, n)
	}
	r, err := l.TakeByComponent(ctx, key, n, results)
	return s.judge(ctx, key, n, r, err, s.Enforces(key))
}

// judge returns what becomes of the limiter's answer to a request.
func (s *Shadowed) judge(ctx context.Context, key string, n int, r Result, err error, enforced bool) (Result, error) {
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

// Wait implements [Limiter]. For a key that is not enforced, it does not wait: see [Shadow].
func (s *Shadowed) Wait(ctx context.Context, key string, n int) error {
	if !s.Enforces(key) {
		r, err := s.limiter.Take(ctx, key, n)
		_, err = s.judge(ctx, key, n, r, err, false)
		return err
	}
	err := s.limiter.Wait(ctx, key, n)
	if err != nil && n >= 0 && (ctx.Err() == nil || denies(err)) { // ctx may have ended since
		s.observe(Refusal{Key: key, N: n, Err: err, Enforced: true})
	}
	return err
}

// denies reports whether an error of Wait is a denial.
func denies(err error) bool {
	return errors.Is(err, ErrTooLate) || errors.Is(err, ErrNeverFits) || errors.Is(err, ErrQueueFull)
}

// Enforces reports whether refusals take effect for key: see [Shadowed.Enforce].
func (s *Shadowed) Enforces(key string) bool {
	// The hash is FNV-1a, with its bits mixed because its upper ones hardly differ for short keys.
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
