package sim

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// A TextError is a fault in one of the policies of a text.
type TextError struct {
	explain.Fault      // its place in the text of that policy
	Lane          int  // from 0
	Then          bool // in the policy that replaces the first one
	Err           error
}

func (e *TextError) Error() string { return e.Err.Error() }

// Unwrap returns the error of [weir.ParsePolicy], or in a browser that of a time zone.
func (e *TextError) Unwrap() error { return e.Err }

// Default returns a Scenario without lanes. It has the values of the fields that a text leaves out.
func Default() Scenario {
	return Scenario{Span: 20 * time.Second, Rates: []int64{20_000}, Measure: time.Second}
}

// TextErrors returns the faults of policies that err wraps.
func TextErrors(err error) (faults []*TextError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			faults = append(faults, TextErrors(e)...)
		}
		return faults
	}
	if fault, ok := err.(*TextError); ok {
		return []*TextError{fault}
	}
	return nil
}

// Parse reads a Scenario from the text of a link: a query with these fields, of which only p can
// come more than once, and only p is required.
//
//	p=10/1s             a policy, in the form of weir.ParsePolicy
//	p=10/1s~8s~5/1s     likewise; from 8 seconds on it is 5/1s
//	t=20s               the Span
//	r=20                requests a second
//	r=5x3,40x1          the Rates: three parts of 5, then one of 40
//	x=poisson           requests come at random
//	b=8s:20,12s:5       the Bursts: 20 requests at 8 seconds, 5 at 12 seconds
//	o=4s-5s             the Outages
//	c=obey              the Clients: once, obey, hammer, mixed or wait
//	m=1s                Measure
//
// The error wraps a [*TextError] for a policy with a fault. If a query has very many faults, the
// error names only some of them.
func Parse(query string) (Scenario, error) {
	s := Default()
	fields, names, err := parseQuery(query)
	if err != nil {
		return s, err
	}
	var errs []error
	for _, name := range names {
		read, ok := readers[name]
		switch values := fields[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("the link has %.80q, must be one of p, t, r, x, b, o, c and m", name))
		case name == "p" && len(values) > maxLanes:
			errs = append(errs, fmt.Errorf("the number of policies is %d, must be 1 to %d", len(values), maxLanes))
		case name != "p" && len(values) > 1:
			errs = append(errs, fmt.Errorf("the link has %s more than once", name))
		default:
			for i, v := range values {
				err := read(&s, v)
				if err == nil {
					continue
				}
				if fault := new(TextError); errors.As(err, &fault) {
					fault.Lane = i
				}
				errs = append(errs, err)
			}
		}
	}
	if errs == nil {
		errs = append(errs, s.check())
	}
	return s, errors.Join(errs[:min(len(errs), maxErrors)]...)
}

// maxErrors is how many faults of the fields of a query an error names, at most.
const maxErrors = 20

var readers = map[string]func(s *Scenario, value string) error{
	"p": readLane,
	"t": func(s *Scenario, v string) error { return readDuration(&s.Span, v) },
	"m": func(s *Scenario, v string) error { return readDuration(&s.Measure, v) },
	"r": readRates,
	"x": func(s *Scenario, v string) error {
		if s.Poisson = v == "poisson"; !s.Poisson {
			return fmt.Errorf("x is %.80q, must be poisson", v)
		}
		return nil
	},
	"b": readBursts,
	"o": readOutages,
	"c": readClients,
}

func readLane(s *Scenario, v string) (err error) {
	var l Lane
	text, change, changes := strings.Cut(v, "~")
	if l.Policy, err = readPolicy(text, false); err != nil {
		return err
	}
	if changes {
		at, then, _ := strings.Cut(change, "~")
		if err := readDuration(&l.At, at); err != nil {
			return err
		}
		if l.Then, err = readPolicy(then, true); err != nil {
			return err
		}
	}
	s.Lanes = append(s.Lanes, l)
	return nil
}

func readPolicy(text string, then bool) (weir.Policy, error) {
	p, err := weir.ParsePolicy(text)
	if err == nil {
		return p, nil
	}
	fault, ok := explain.FaultOf(text, err)
	switch {
	case !ok: // it is too long
		fault.Reason = err.Error()
	case runtime.GOOS == "js" && strings.Contains(fault.Reason, ".Location is "):
		fault.Reason = "a browser has no database of time zones: without location=, a calendar is in UTC"
		err = fmt.Errorf("policy %q: %s", text, fault.Reason)
	}
	return nil, &TextError{Fault: fault, Then: then, Err: err}
}

func readDuration(d *time.Duration, v string) (err error) {
	if *d, err = time.ParseDuration(v); err != nil {
		return fmt.Errorf("%.80q is no duration, must be one such as 90s or 1h30m", v)
	}
	return nil
}

func readRates(s *Scenario, v string) error {
	s.Rates = nil
	for _, run := range strings.Split(v, ",") {
		value, times, repeated := strings.Cut(run, "x")
		n := 1
		if repeated {
			var err error
			if n, err = strconv.Atoi(times); err != nil || n < 1 || n > maxRates {
				return fmt.Errorf("%.80q repeats a rate, must do so 1 to %d times", run, maxRates)
			}
		}
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || !(0 <= rate && rate <= maxRate/1000) {
			return fmt.Errorf("%.80q is no rate, must be requests a second, at most %d", value, maxRate/1000)
		}
		for range n {
			s.Rates = append(s.Rates, int64(float64(rate*1000)+0.5))
		}
		if len(s.Rates) > maxRates {
			break // check reports it
		}
	}
	return nil
}

func readBursts(s *Scenario, v string) error {
	for _, one := range list(v) {
		at, count, _ := strings.Cut(one, ":")
		var b Burst
		err := readDuration(&b.At, at)
		n, noNumber := strconv.Atoi(count)
		if b.N = n; err != nil || noNumber != nil || n < 1 {
			return fmt.Errorf("%.80q is no burst, must be an instant and a number up to %d, such as 8s:20", one, maxArrivals)
		}
		s.Bursts = append(s.Bursts, b)
	}
	return nil
}

func readOutages(s *Scenario, v string) error {
	for _, one := range list(v) {
		from, to, _ := strings.Cut(one, "-")
		var o Outage
		if readDuration(&o.From, from) != nil || readDuration(&o.To, to) != nil {
			return fmt.Errorf("%.80q is no outage, must be two instants, such as 4s-5s", one)
		}
		s.Outages = append(s.Outages, o)
	}
	return nil
}

// list splits a list that may be empty.
func list(v string) []string {
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func readClients(s *Scenario, v string) error {
	for i, name := range clientNames {
		if name == v {
			s.Clients = Clients(i)
			return nil
		}
	}
	return fmt.Errorf("c is %.80q, must be one of %s", v, strings.Join(clientNames[:], ", "))
}
