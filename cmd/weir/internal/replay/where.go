package replay

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/weir-go/weir/cmd/weir/internal/accesslog"
)

// A Where selects requests by their fields. The zero Where selects all.
type Where struct{ conditions []condition }

type condition struct {
	field string
	not   bool
	value string
	match *regexp.Regexp // in place of value
}

// ParseWhere reads conditions of these forms, with "and" between them:
//
//	field=value   field!=value   field~regexp   field!~regexp
//
// There are no parentheses around conditions. A value stands between quotes, double or single, if it
// has white space, or starts with = or ~. A field that a request does not have is the empty string.
func ParseWhere(s string) (Where, error) {
	var w Where
	text := strings.TrimRightFunc(s, unicode.IsSpace)
	for rest := strings.TrimSpace(s); rest != ""; {
		field, _, _ := strings.Cut(rest, "~") // a value or a regexp may have parentheses
		field, _, _ = strings.Cut(field, "=")
		if i := strings.IndexAny(field, "()"); i >= 0 {
			return Where{}, fmt.Errorf("where is %q, at byte %d: %q: must be a field without parentheses: conditions have only \"and\" between them",
				s, len(text)-len(rest)+i, field[i:i+1])
		}
		c, after, err := parseCondition(rest)
		if err != nil {
			return Where{}, fmt.Errorf("where is %q, %w", s, err)
		}
		w.conditions = append(w.conditions, c)
		if after = strings.TrimSpace(after); after == "" {
			break
		}
		next, ok := strings.CutPrefix(after, "and")
		switch {
		case ok && next == "":
			return Where{}, fmt.Errorf("where is %q, must have a condition after the last \"and\"", s)
		case !ok || strings.IndexAny(next, spaces) != 0:
			return Where{}, fmt.Errorf("where is %q, at %q must be: and", s, after)
		}
		rest = strings.TrimSpace(next)
	}
	return w, nil
}

const spaces = " \t\r\n"

func parseCondition(s string) (c condition, rest string, err error) {
	i := strings.IndexAny(s, "=!~"+spaces)
	if i < 1 || strings.Contains(spaces, s[i:i+1]) {
		return c, "", fmt.Errorf("at %q must be field=value, field!=value, field~regexp or field!~regexp", s)
	}
	c.field = s[:i]
	rest, c.not = strings.CutPrefix(s[i:], "!")
	if rest == "" || rest[0] != '=' && rest[0] != '~' {
		return c, "", fmt.Errorf("at %q must be != or !~", s)
	}
	isRegexp := rest[0] == '~'
	if strings.ContainsAny(s[i-1:i], "<>") || len(rest) > 1 && (rest[1] == '=' || rest[1] == '~') {
		return c, "", fmt.Errorf("at %q must be =, !=, ~ or !~ and a value, in quotes if that starts with = or ~", s)
	}
	c.value, rest, err = parseValue(rest[1:])
	if err == nil && isRegexp {
		c.match, err = regexp.Compile(c.value)
	}
	return c, rest, err
}

func parseValue(s string) (value, rest string, err error) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, rest, ok := strings.Cut(s[1:], s[:1])
		if !ok {
			return "", "", fmt.Errorf("the quote at %q is not closed", s)
		}
		return value, rest, nil
	}
	if i := strings.IndexAny(s, spaces); i >= 0 {
		return s[:i], s[i:], nil
	}
	return s, "", nil
}

// check returns an error for a field that p's lines cannot have.
func (w Where) check(p accesslog.Parser) error {
	for _, c := range w.conditions {
		if err := p.Check(c.field); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the line that p has parsed is selected.
func (w Where) holds(p accesslog.Parser) bool {
	for _, c := range w.conditions {
		value := p.Field(c.field)
		is := string(value) == c.value
		if c.match != nil {
			is = c.match.Match(value)
		}
		if is == c.not {
			return false
		}
	}
	return true
}
