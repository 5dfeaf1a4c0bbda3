package httplimit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A planner is a [weir.Limiter] that reports its policy for a key. *weir.KeyedLimiter is one.
type planner interface {
	PlanOf(ctx context.Context, key string) (*weir.Plan, error)
}

// A description is what the fields and the answers say about a limit with one policy.
type description struct {
	plan  *weir.Plan // nil if it is not known
	whole member
	parts []*member // of a policy composed by weir.All
}

// listsParts reports whether the fields list the parts of the policy. They do not if the limiter has
// decided by a policy with another number of parts, as it may just after a change.
func (a *asked) listsParts() bool {
	return len(a.parts) > 0 && len(a.parts) == len(a.about.parts)
}

// A member is what the fields and the answers say about one policy.
type member struct {
	latest atomic.Pointer[policyField] // never nil
	shown  string                      // the name in answers, or ""
	quoted string                      // the name as an sf-string
	left   string                      // quoted, and ";r="
	params string                      // ";qu=..." and ";w=60", or ""
	denial atomic.Pointer[denialPages] // nil until the first denial: to make them takes several times as long as a decision
}

// A policyField is the value of RateLimit-Policy for one Limit.
type policyField struct {
	quota int
	value string
}

// setTo sets m to what is said about a policy, which may be nil. shown is the name in answers,
// which may be empty. The error begins with the name of the field that is at fault.
func (m *member) setTo(name, shown, unit string, policy weir.Policy) error {
	m.shown = shown
	quoted, err := quote("Name", name)
	if err != nil {
		return err
	}
	m.quoted, m.left = quoted, quoted+";r="
	if unit != "" {
		quoted, err := quote("Unit", unit)
		if err != nil {
			return err
		}
		m.params = ";qu=" + quoted
	}
	quota := 0
	if policy = pointedTo(policy); policy != nil {
		var window time.Duration
		if quota, window, err = fullQuota(policy); err != nil {
			return fmt.Errorf("%s: %w", "Policy", err)
		}
		m.params = string(appendInt([]byte(m.params+";w="), max(seconds(window), 1)))
	}
	m.newPolicy(quota)
	return nil
}

// quote returns s as a String of Structured Fields.
func quote(field, s string) (string, error) {
	quoted := []byte{'"'}
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' {
			return "", fmt.Errorf("%s is %q, must be printable ASCII", field, s)
		}
		if c == '"' || c == '\\' {
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, c)
	}
	return string(append(quoted, '"')), nil
}

// policy returns the value of RateLimit-Policy for a quota. It keeps the latest value, because most
// requests have the same quota. The compiler inlines it if latest is the first field.
func (m *member) policy(quota int) *policyField {
	if latest := m.latest.Load(); latest.quota == quota {
		return latest
	}
	return m.newPolicy(quota)
}

func (m *member) newPolicy(quota int) *policyField {
	p := &policyField{quota, string(appendInt([]byte(m.quoted+";q="), int64(quota))) + m.params}
	m.latest.Store(p)
	return p
}

// pages returns the answers for a denial by this limit alone.
func (m *member) pages() *denialPages {
	if pages := m.denial.Load(); pages != nil {
		return pages
	}
	pages := newDenialPages(m.shown)
	m.denial.Store(pages)
	return pages
}

// appendLimit appends the member of RateLimit for a result.
func (m *member) appendLimit(b []byte, res *weir.Result) []byte {
	b = appendInt(append(b, m.left...), int64(res.Remaining))
	return appendInt(append(b, ";t="...), seconds(effectiveWindow(res)))
}

// maxDescribed is the number of plans at which descriptions are dropped and made again. To make one
// for each request takes ten times as long as to find it.
const maxDescribed = 1 << 14

// descriptions are those of a limit, by the plan of the key.
type descriptions struct {
	planner planner      // the Limiter if it is one and the fields need it, else nil
	unknown *description // of a key whose plan is not known

	latest atomic.Pointer[description] // the last that was made: most limits have one plan
	known  sync.Map                    // from *weir.Plan to *description
	size   atomic.Int64                // of known
}

// describe prepares the descriptions of lm.
func (l *limited) describe(lm *limit) error {
	lm.unknown = new(description)
	var policy weir.Policy
	if c := l.fields.current; c != nil {
		lm.planner, _ = lm.Limiter.(planner)
		policy = c.Policy
	}
	if err := lm.unknown.setTo(lm.Name, lm.Unit, policy, l.fields.current != nil); err != nil {
		return err
	}
	lm.latest.Store(lm.unknown)
	return nil
}

// of returns the description for a key.
func (lm *limit) of(ctx context.Context, key string) *description {
	if lm.planner == nil {
		return lm.unknown
	}
	plan, err := lm.planner.PlanOf(ctx, key)
	if err != nil { // the limiter fails, too
		return lm.unknown
	}
	if latest := lm.latest.Load(); latest.plan == plan {
		return latest
	}
	if known, ok := lm.known.Load(plan); ok {
		return known.(*description)
	}
	about := &description{plan: plan}
	if err := about.setTo(lm.Name, lm.Unit, plan.Policy, true); err != nil { // never happens: the plan is valid
		return lm.unknown
	}
	if lm.size.Add(1) > maxDescribed {
		lm.known.Clear()
		lm.size.Store(1)
	}
	lm.known.Store(plan, about)
	lm.latest.Store(about)
	return about
}

// setTo sets d to what is said about a limit with a policy, which may be nil.
func (d *description) setTo(name, unit string, policy weir.Policy, listed bool) error {
	shown := name
	if listed && name == "" {
		shown = "default"
	}
	field := shown
	if field == "" {
		field = "default"
	}
	parts := together(policy)
	if len(parts) == 0 {
		return d.whole.setTo(field, shown, unit, policy)
	}
	for _, p := range parts {
		text := strings.TrimPrefix(strings.Map(printable, fmt.Sprint(p)), "token-bucket ")
		if name != "" {
			text = name + " " + text
		}
		part := new(member)
		if err := part.setTo(text, text, unit, p); err != nil {
			return err
		}
		d.parts = append(d.parts, part)
	}
	return d.whole.setTo(field, shown, unit, nil)
}

// printable returns r, or a question mark if a String of Structured Fields cannot contain r.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}
