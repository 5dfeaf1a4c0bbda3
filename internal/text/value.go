package text

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Value is a field of a policy as a word.
type Value interface {
	// String returns the word, or "" if the text leaves it out.
	String() string

	// Set sets the field. If the word is not allowed, it returns what it must be.
	Set(word string) (must string)
}

// Duration is the value of a duration such as 10ms, 1h30m or 1d.
func Duration(field *time.Duration) Value { return (*duration)(field) }

type duration time.Duration

func (d *duration) String() string { return formatDuration(time.Duration(*d)) }

func (d *duration) Set(word string) (must string) {
	length, ok := parseDuration(word)
	*d = duration(length)
	switch {
	case ok:
		return ""
	case tooLong(word):
		return "at most " + longest
	}
	return "a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w"
}

// OneOf is a value that is one of values, each written as its String.
func OneOf[T fmt.Stringer](field *T, values ...T) Value { return oneOf[T]{field, values} }

type oneOf[T fmt.Stringer] struct {
	field  *T
	values []T
}

func (o oneOf[T]) String() string { return (*o.field).String() }

func (o oneOf[T]) Set(word string) (must string) {
	var words []string
	for _, v := range o.values {
		if v.String() == word {
			*o.field = v
			return ""
		}
		words = append(words, v.String())
	}
	return anyOf(words)
}

// Whole is the value of a whole number in digits. what names the number in errors. A text leaves
// out zero, the default.
func Whole(field *int, what string) Value { return number{field, 0, "a whole number: " + what} }

type number struct {
	field *int
	least int
	must  string
}

func (n number) String() string {
	if *n.field == 0 {
		return ""
	}
	return strconv.Itoa(*n.field)
}

func (n number) Set(word string) (must string) {
	i, ok := parseCount(word)
	if !ok || i < n.least {
		return n.must
	}
	*n.field = i
	return ""
}

var aCount = fmt.Sprintf("a whole number from 1 to %d", math.MaxInt)

// parseCount reads a number of digits alone.
func parseCount(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
	return int(n), err == nil
}

// Word is the value of a word that is not empty. what names the word in errors.
func Word(field *string, what string) Value { return word{field, what} }

type word struct {
	field *string
	what  string
}

func (w word) String() string { return *w.field }

func (w word) Set(s string) (must string) {
	if s == "" {
		return w.what
	}
	*w.field = s
	return ""
}
