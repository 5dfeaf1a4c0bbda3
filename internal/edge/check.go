package edge

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/text"
)

// NoLimiter reports whether l is nil, or a nil *weir.KeyedLimiter.
func NoLimiter(l weir.Limiter) bool {
	k, ok := l.(*weir.KeyedLimiter)
	return l == nil || ok && k == nil
}

// CheckServer returns the faults of the fields that the ServerInterceptors of all protocols have.
// policy is the fault of the field Policy, or nil.
func CheckServer(l weir.Limiter, hasKey bool, maxWait time.Duration, policy error) error {
	var errs []error
	if NoLimiter(l) {
		errs = append(errs, errors.New("weir: ServerInterceptor.Limiter is nil, must be a Limiter"))
	}
	if !hasKey {
		errs = append(errs, errors.New("weir: ServerInterceptor.Key is nil, must be a KeyFunc"))
	}
	if maxWait < 0 {
		errs = append(errs, fmt.Errorf("weir: ServerInterceptor.MaxWait is %v, must be at least 0", maxWait))
	}
	return errors.Join(append(errs, text.Within("ServerInterceptor.Policy", policy)...)...)
}

// CheckClient returns the faults of the fields that the ClientInterceptors of all protocols have.
func CheckClient(l weir.Limiter, maxHold, jitter time.Duration) error {
	var errs []error
	if NoLimiter(l) {
		errs = append(errs, errors.New("weir: ClientInterceptor.Limiter is nil, must be a Limiter"))
	}
	if maxHold < 0 {
		errs = append(errs, fmt.Errorf("weir: ClientInterceptor.MaxHold is %v, must be at least 0", maxHold))
	}
	if jitter < 0 {
		errs = append(errs, fmt.Errorf("weir: ClientInterceptor.Jitter is %v, must be at least 0", jitter))
	}
	return errors.Join(errs...)
}
