package explain

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir"
)

// An Explanation is all that is said about a policy.
type Explanation struct {
	Text   string   // the text form, as String writes it
	Words  []string // as Words returns them
	Worst  []Worst  // the shortest span first
	Client Client
	Memory Memory
	Code   string // a Go expression
	JSON   string
}

// Worst is the most events that one client can get in any span of a length: see [Most].
type Worst struct {
	Span time.Duration
	Most int
}

// Of explains p. An error is that of p's method Decider. Of is safe for concurrent use.
func Of(p weir.Policy) (Explanation, error) {
	client, err := ClientOf(p)
	if err != nil {
		return Explanation{}, err
	}
	memory, err := MemoryOf(p)
	if err != nil {
		return Explanation{}, err
	}
	text := fmt.Sprint(p)
	e := Explanation{
		Text: text, Words: Words(p), Client: client, Memory: memory,
		Code: Code(p), JSON: strconv.Quote(text),
	}
	for _, span := range Spans(p) {
		e.Worst = append(e.Worst, Worst{span, Most(p, span)})
	}
	return e, nil
}

// Spans returns the spans for which the worst case of p tells most: the periods of its policies,
// and those of a second, a minute, an hour and a day that are shorter than its longest period. A
// policy of another package has no period.
func Spans(p weir.Policy) []time.Duration {
	var spans []time.Duration
	longest := time.Duration(0)
	for _, leaf := range leaves(p) {
		if d := period(leaf); d > 0 {
			spans = append(spans, d)
			longest = max(longest, d)
		}
	}
	for _, span := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if span < longest {
			spans = append(spans, span)
		}
	}
	slices.Sort(spans)
	return slices.Compact(spans)
}
