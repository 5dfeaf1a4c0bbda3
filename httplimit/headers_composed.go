package httplimit

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/weir-go/weir"
)

// A detailedTaker is a [weir.Limiter] that also reports MoreAfter, and the result of each part of a
// composed policy. *weir.KeyedLimiter is one.
type detailedTaker interface {
	TakeByComponent(ctx context.Context, key string, n int, parts *[]weir.Result) (weir.Result, error)
}

// take takes n events from the limiter. It returns the results of the policy's parts if the fields
// list them.
func (l *limited) take(ctx context.Context, key string, n int) (weir.Result, []weir.Result, error) {
	switch {
	case l.detailed == nil:
		r, err := l.m.Limiter.Take(ctx, key, n)
		return r, nil, err
	case len(l.partPages) == 0:
		r, err := l.detailed.TakeByComponent(ctx, key, n, nil)
		return r, nil, err
	}
	var parts struct { // one allocation for both
		list []weir.Result
		room [4]weir.Result
	}
	parts.list = parts.room[:0]
	r, err := l.detailed.TakeByComponent(ctx, key, n, &parts.list)
	return r, parts.list, err
}

// composed is a prepared RateLimit for a composed policy. It lists each part.
type composed struct {
	*rateLimit // for the policy as a whole
	parts      []*rateLimit
}

// composed prepares f for a policy that has parts.
func (f RateLimit) composed(name string, parts []weir.Policy) (fields, error) {
	all, err := newRateLimit(name, nil)
	if err != nil {
		return nil, err
	}
	c := &composed{rateLimit: all}
	for _, p := range parts {
		text := strings.TrimPrefix(strings.Map(printable, fmt.Sprint(p)), "token-bucket ")
		if f.Name != "" {
			text = f.Name + " " + text
		}
		one, err := newRateLimit(text, p)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, one)
	}
	return c, nil
}

// printable returns r, or a question mark if a String of Structured Fields cannot contain r.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

func (c *composed) partNames() []string {
	names := make([]string, len(c.parts))
	for i, p := range c.parts {
		names[i] = p.plain
	}
	return names
}

func (c *composed) set(h http.Header, res weir.Result, parts []weir.Result) {
	if len(parts) != len(c.parts) { // the limiter does not report parts, or has another policy for this key
		c.rateLimit.set(h, res, nil)
		return
	}
	var policyBuf, limitBuf [256]byte
	policies, limits := policyBuf[:0], limitBuf[:0]
	for i, p := range c.parts {
		policies = append(comma(policies), p.policy(parts[i].Limit)...)
		switch {
		case res.Allowed:
			limits = p.appendLimit(comma(limits), parts[i])
		case i == res.DecidedBy: // the times of the other parts would differ from Retry-After
			r := res
			r.Limit, r.Remaining = parts[i].Limit, parts[i].Remaining
			limits = p.appendLimit(limits, r)
		}
	}
	both := string(append(policies, limits...)) // one allocation for both
	values := []string{both[:len(policies)], both[len(policies):]}
	put(h, rateLimitPolicyField, values[0:1:1])
	put(h, rateLimitField, values[1:2:2])
}

// comma appends a separator to a list that is not empty.
func comma(list []byte) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	return list
}
