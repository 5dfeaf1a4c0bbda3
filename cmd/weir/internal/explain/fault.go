package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

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

// Parse is [weir.ParsePolicy]. If an error has a place in the text, that of Parse shows the text,
// and below it a caret at the place.
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
	before := 0
	for _, r := range text[:fault.Byte] {
		before += columns(r)
	}
	return nil, fmt.Errorf("policy at byte %d: %s\n\n  %s\n  %s^", fault.Byte, fault.Reason, oneLine, strings.Repeat(" ", before))
}

// wide are the characters that take two columns of a terminal: those of East Asia, and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x2e80, 0x2fff, 1},
		{0x3001, 0x303e, 1},
		{0x3041, 0xa4cf, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cff, 1},
		{0x1aff0, 0x1b2ff, 1},
		{0x1f300, 0x1f64f, 1},
		{0x1f680, 0x1f6ff, 1},
		{0x1f900, 0x1f9ff, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// columns is how many columns of a terminal a character takes. One that is not printed takes one:
// the command writes a dot for it.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me): // stands over the character before
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
