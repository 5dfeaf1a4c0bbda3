package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// A Line is a field of a Result, with its meaning in words.
type Line struct{ Field, Value, Words string }

// Describe returns what happened in a record, and its Result field by field. p is the policy that
// has answered.
func Describe(p weir.Policy, r *Record) (what string, lines []Line) {
	at := "at " + words(r.At)
	switch r.Kind {
	case Look:
		what = fmt.Sprintf("Nobody asked %s: this is what a request would find.", at)
	case Granted:
		what = fmt.Sprintf("Granted %s.", at)
		if r.Tries > 0 {
			what = fmt.Sprintf("Granted %s, after %s, %s after the first request.", at, explain.Plural(r.Tries, "denial", "denials"), words(r.At-r.Came))
		}
	case Held:
		what = fmt.Sprintf("Held back for %s. It came at %s and goes ahead %s.", words(r.At-r.Came), words(r.Came), at)
	case Denied:
		what = fmt.Sprintf("Denied %s.", at)
		if r.Waited {
			what = fmt.Sprintf("Denied %s: the queue is full.", at)
		}
	case Waits:
		what = fmt.Sprintf("Waits from %s on, behind those that came before.", words(r.At))
		if r.Delay > 0 && r.Result.Allowed {
			what = fmt.Sprintf("Waits from %s on. Its turn is %s later.", words(r.At), words(r.Delay))
		}
	}
	if r.Kind == Waits && r.Result == (weir.Result{}) {
		return what, nil // it has not asked the limiter yet
	}
	if r.Kind == Granted || r.Kind == Denied {
		switch {
		case r.Hammers:
			what += " This client hammers."
		case r.Tries > 0:
			what += " This client obeys Retry-After."
		}
	}
	return what, resultLines(p, r.Result, r.Waited)
}

// words is d in words: with at most three decimals.
func words(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return explain.Duration(d)
}

func resultLines(p weir.Policy, r weir.Result, waited bool) []Line {
	retry := "until the same request is granted, if no others come"
	if waited {
		retry = "until the queue has room for the same request, if no others come"
	}
	lines := []Line{
		{"Allowed", strconv.FormatBool(r.Allowed), "may the request go ahead?"},
		{"Limit", strconv.Itoa(r.Limit), "the most that is ever granted at once"},
		{"Remaining", strconv.Itoa(r.Remaining), "one request for this many would be granted now"},
		{"RetryAfter", resultDuration(r.RetryAfter), retry},
		{"ResetAfter", resultDuration(r.ResetAfter), "until the key has fully recovered, if no requests come"},
	}
	if r.MoreAfter > 0 {
		lines = append(lines, Line{"MoreAfter", resultDuration(r.MoreAfter), "until more remain, if no requests come"})
	}
	if parts := weir.Components(p); r.DecidedBy < len(parts) {
		lines = append(lines, Line{"DecidedBy", strconv.Itoa(r.DecidedBy), fmt.Sprintf("the part %v decided", parts[r.DecidedBy])})
	}
	return lines
}

func resultDuration(d time.Duration) string {
	if d == weir.Never {
		return "Never"
	}
	return FormatDuration(d)
}
