package weir

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// textKinds are the kinds of policies and their names in the text form. The first may be left out.
var textKinds = [...]struct {
	name   string
	policy Policy // a zero one
}{
	{"token-bucket", TokenBucket{}},
	{"leaky-bucket", LeakyBucket{}},
	{"fixed-window", FixedWindow{}},
	{"sliding-window", SlidingWindow{}},
	{"sliding-log", SlidingLog{}},
	{"calendar-window", CalendarWindow{}},
	{"all", all{}},
	{"tiers", tiers{}},
	{"single-rate-marker", SingleRateMarker{}},
	{"two-rate-marker", TwoRateMarker{}},
}

// kindOf is p, or what it points to, and the name of its kind; p and no name, if that is of another
// package.
func kindOf(p Policy) (value Policy, name string) {
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	for _, k := range textKinds {
		if v.IsValid() && v.Type() == reflect.TypeOf(k.policy) {
			return v.Interface().(Policy), k.name
		}
	}
	return p, ""
}

// policyText is the text form of p. A policy of another package gives the name of its type, which
// ParsePolicy refuses, even if it has the methods of one of these embedded.
func policyText(p Policy) string {
	p, text := kindOf(p)
	if text == "" {
		return fmt.Sprintf("%T", p)
	}
	switch p := p.(type) {
	case all, tiers:
		return text + partsText(Components(p))
	case TwoRateMarker:
		return text + partsText([]Policy{p.Committed, p.Peak})
	}
	limit, per, options := textFields(reflect.ValueOf(p))
	rate := fmt.Sprintf("%v/%v", limit, per)
	if d, ok := per.Interface().(time.Duration); ok {
		rate = fmt.Sprintf("%v/%s", limit, perText(d))
	}
	text += " " + rate
	for _, o := range options {
		switch {
		case o.IsZero():
		case o.Kind() == reflect.Bool:
			text += " " + o.name
		default:
			text += fmt.Sprintf(" %s=%v", o.name, o.Value)
		}
	}
	if text == textKinds[0].name+" "+rate {
		return rate
	}
	return text
}

// partsText is the text of the parts of a composed policy.
func partsText(parts []Policy) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = policyText(p)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// textFields are the fields of a policy with a rate: the two of the rate, and those that are
// options.
func textFields(p reflect.Value) (limit, per reflect.Value, options []textOption) {
	limit, per = p.Field(0), p.Field(1)
	rest := 2
	if limit.Kind() == reflect.Struct { // of a SingleRateMarker
		limit, per, options = textFields(limit)
		rest = 1
	}
	for i := rest; i < p.NumField(); i++ {
		var name []rune
		for _, r := range p.Type().Field(i).Name {
			if unicode.IsUpper(r) && name != nil {
				name = append(name, '-')
			}
			name = append(name, unicode.ToLower(r))
		}
		options = append(options, textOption{p.Field(i), string(name)})
	}
	return limit, per, options
}

// A textOption is a field of a policy in the text form: a word that may follow the rate.
type textOption struct {
	reflect.Value
	name string
}

// form is how the option is written, with N for a number and ZONE for the name of a time zone.
func (o textOption) form() string {
	switch o.Kind() {
	case reflect.Bool:
		return o.name
	case reflect.String:
		return o.name + "=ZONE"
	}
	return o.name + "=N"
}

// set sets the field to the value that is written, if it has one, and else tells what it must be.
// Zero would be the same as leaving it out, and so not what a reader takes it for, but for the
// start of a week.
func (o textOption) set(value string) (must string) {
	n, ok := parseCount(value)
	switch o.Kind() {
	case reflect.Bool:
		o.SetBool(true)
		return ""
	case reflect.String:
		if o.SetString(value); value != "" {
			return ""
		}
		return "the name of a time zone, such as Europe/Berlin"
	}
	o.SetInt(int64(n))
	switch {
	case o.name == "start" && !ok:
		return "a whole number: the day of a month, 0 to 6 for Sunday to Saturday, or the month of a year"
	case !ok || n == 0 && o.name != "start":
		return fmt.Sprintf("a whole number from 1 to %d", math.MaxInt)
	}
	return ""
}
