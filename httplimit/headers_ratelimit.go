package httplimit

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/weir-go/weir"
)

// RateLimit writes the fields of draft-ietf-httpapi-ratelimit-headers-11:
//
//	RateLimit-Policy: "default";q=100;w=60
//	RateLimit: "default";r=50;t=1
//
// The parameters are:
//
//   - q: the Limit of the [weir.Result]
//   - r: the Remaining of that Result
//   - t: the effective window, see [Headers]
//   - w: the time in which the whole of q comes back, rounded up to whole seconds
//
// For windows and logs, w is Per. For a [weir.TokenBucket] it is the time in which Burst tokens are
// earned, and for a [weir.LeakyBucket] the time in which Capacity events pass. For a
// [weir.CalendarWindow] it is the length of the longest unit of its kind, such as a month of 31
// days or a year of 366 days. A client that spreads q events over w is then not too fast in a
// shorter month. A day counts as 24 hours.
//
// If several limits apply to a request, as Limits of one [Middleware] or in nested Middlewares,
// each adds its own members to the fields. If a request is denied, the field RateLimit has only the
// limits that deny it. The limits of outer Middlewares, which granted it, are not in this field.
// Retry-After is the longest t in the field. If one of the limits in it can never grant the
// request, there is no Retry-After.
//
// The components of a policy composed by [weir.All] are listed like several limits. In a denied
// answer, RateLimit has only one of them: the one that denied, or the one with the longest
// RetryAfter if several did. The name of a component is its text, such as 300/1m. If the RateLimit
// or the [Limit] has a Name, it comes before the text. [weir.Tiers] are listed as one limit,
// because a client does not have to stay within each of them.
//
//	RateLimit-Policy: "300/1m";q=300;w=60, "15750/1h";q=15750;w=3600
//	RateLimit: "300/1m";r=299;t=1, "15750/1h";r=15749;t=1
//
// RateLimit can write w and list the components only if it knows the policy. A *[weir.KeyedLimiter]
// reports the policy of each key, even if policies differ by key, or change in use.
//
// The parameter pk of the draft, the partition key, is not written.
type RateLimit struct {
	// Name is printable ASCII; "" means "default". With Middleware.Limits, which have names of
	// their own, Name and the other fields must be empty.
	Name string

	// Unit is the parameter qu of RateLimit-Policy: what the limit counts. If Unit is empty, the
	// parameter is left out. Clients then assume that the limit counts requests. The draft knows
	// "requests", "content-bytes" and "concurrent-requests". Unit must be printable ASCII.
	Unit string

	// Policy is for a Limiter that does not report its policy, such as a *[weir.Shadowed]. A
	// *weir.KeyedLimiter reports its policy, and so does a Limiter with the same PlanOf method.
	Policy weir.Policy
}

func (f RateLimit) addTo(to *fields) error {
	if to.current != nil {
		return errors.New("weir: HeaderSet has more than one RateLimit, must have one at most")
	}
	to.current = &f
	return nil
}

// The names of the fields, in the canonical form of http.Header.
const (
	rateLimitField       = "Ratelimit"
	rateLimitPolicyField = "Ratelimit-Policy"
)

// setRateLimit writes the fields of RateLimit.
func (f *fields) setRateLimit(h http.Header, all []asked, decisive int, replace bool) {
	a := &all[decisive]
	var (
		slots  []string
		limits []byte
	)
	if len(all) > 1 || a.listsParts() {
		slots, limits = newFieldValues(2, 24*(len(all)+len(a.parts)))
		slots[0], limits = f.list(all, limits, a.d.Result.Allowed)
	} else {
		m := &a.about.whole
		slots, limits = newFieldValues(2, len(m.quoted)+len(";r=1000000;t=60"))
		slots[0], limits = m.policy(a.d.Result.Limit).value, m.appendLimit(limits, &a.d.Result)
	}
	slots[1] = textOf(limits)
	if len(h) == 0 { // the usual case: there is no list to add to
		h[rateLimitPolicyField], h[rateLimitField] = slots[0:1:1], slots[1:2:2]
		return
	}
	put(h, rateLimitPolicyField, slots[0:1:1], replace)
	if len(limits) > 0 { // else nothing is known of what denies, and a List that is empty is not sent
		put(h, rateLimitField, slots[1:2:2], replace)
	}
}

// list returns the policies of several limits or components, and appends the members of RateLimit.
// If the request is not granted, it leaves out the limits that do not deny it.
func (f *fields) list(all []asked, limits []byte, granted bool) (policies string, _ []byte) {
	latest, n, same := f.latest.Load(), 0, true // whether the n policies so far are the first of latest
	for i := range all {
		a := &all[i]
		res := &a.d.Result
		if res.Limit <= 0 { // not known: the limit was not asked, or failed
			continue
		}
		if !a.listsParts() {
			same, n = same && latest.has(n, a.about.whole.policy(res.Limit)), n+1
			if granted || !res.Allowed {
				limits = a.about.whole.appendLimit(comma(limits), res)
			}
			continue
		}
		for j, p := range a.about.parts {
			part := &a.parts[j]
			same, n = same && latest.has(n, p.policy(part.Limit)), n+1
			switch {
			case granted:
				part.Allowed = true // a weir.Shadow may grant what the part denies
				limits = p.appendLimit(comma(limits), part)
			case !res.Allowed && j == res.DecidedBy: // the times of the others would differ from Retry-After
				r := *part
				r.Allowed, r.RetryAfter = false, res.RetryAfter
				limits = p.appendLimit(comma(limits), &r)
			}
		}
	}
	if !same || latest == nil || n != len(latest.list) {
		latest = newPolicyList(all)
		f.latest.Store(latest)
	}
	return latest.joined, limits
}

// A policyList is the latest value of RateLimit-Policy for several limits. Most requests have the
// same one.
type policyList struct {
	list   []*policyField
	joined string
}

// has reports whether p is the policy at i.
func (l *policyList) has(i int, p *policyField) bool {
	return l != nil && i < len(l.list) && l.list[i] == p
}

func newPolicyList(all []asked) *policyList {
	l := new(policyList)
	var values []string
	add := func(p *policyField) { l.list, values = append(l.list, p), append(values, p.value) }
	for i := range all {
		a := &all[i]
		switch {
		case a.d.Result.Limit <= 0:
		case a.listsParts():
			for j, p := range a.about.parts {
				add(p.policy(a.parts[j].Limit))
			}
		default:
			add(a.about.whole.policy(a.d.Result.Limit))
		}
	}
	l.joined = strings.Join(values, ", ")
	return l
}

// comma appends a separator to a list that is not empty.
func comma(list []byte) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	return list
}

// put adds the value to the list that h may already have under name. With replace, it replaces the
// members with the same names.
func put(h http.Header, name string, value []string, replace bool) {
	before := h[name]
	if len(before) == 0 {
		h[name] = value
		return
	}
	all := make([]string, 0, len(before)+1)
	for _, old := range before {
		if replace {
			old = without(old, value[0])
		}
		if old != "" {
			all = append(all, old)
		}
	}
	h[name] = append(all, value[0])
}

// without returns a list without those members whose names are in another list.
func without(list, other string) string {
	var kept []string
	all := 0
	for rest, more := list, true; more; all++ {
		var m string
		m, rest, more = cutLastElement(rest)
		if m = strings.TrimSpace(m); !hasName(other, nameOf(m)) {
			kept = append(kept, m)
		}
	}
	if len(kept) == all {
		return list
	}
	slices.Reverse(kept)
	return strings.Join(kept, ", ")
}

func hasName(list, name string) bool {
	for rest, more := list, true; more; {
		var m string
		m, rest, more = cutLastElement(rest)
		if nameOf(strings.TrimSpace(m)) == name {
			return true
		}
	}
	return false
}

// nameOf returns the quoted name of a member of a field, or all of it if it has none.
func nameOf(value string) string {
	if !strings.HasPrefix(value, `"`) {
		return value
	}
	return value[:closingQuote(value)+1]
}
