package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-go/weir"
)

// A Fault is where and why [weir.ParsePolicy] refuses a text.
type Fault struct {
	Byte   int    // offset in the text, at most its length
	Reason string // one line, which names what is wrong and what is allowed
}

// FaultOf returns the place of err, an error of [weir.ParsePolicy] for text. It returns false if
// the error has none: the text is then too long.
func FaultOf(text string, err error) (Fault, bool) {
	said, ok := strings.CutPrefix(err.Error(), fmt.Sprintf("weir: policy %q: at byte ", text))
	if !ok {
		return Fault{}, false
	}
	digits, reason, _ := strings.Cut(said, ", ")
	at, err := strconv.Atoi(digits)
	return Fault{at, reason}, err == nil && 0 <= at && at <= len(text)
}

// Parse is [weir.ParsePolicy]. Its error has the text, and a line with a caret below the place.
func Parse(text string) (weir.Policy, error) {
	p, err := weir.ParsePolicy(text)
	if err == nil {
		return p, nil
	}
	fault, ok := FaultOf(text, err)
	if !ok {
		return nil, err
	}
	oneLine := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	before := len([]rune(text[:fault.Byte]))
	return nil, fmt.Errorf("policy at byte %d: %s\n\n  %s\n  %s^", fault.Byte, fault.Reason, oneLine, strings.Repeat(" ", before))
}
