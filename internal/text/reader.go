// Package text is the text form of policies: words, rates, options and lists in brackets. A [Form]
// describes what follows the name of a kind of policy, by pointers to the fields of one. It reads
// the fields from a [Reader], and writes them.
//
// The package knows no policy. The file of each policy says what its kind is called, which fields
// it has, and which values they may have. The tests here read and write forms of their own, and
// hold durations against package time. A [Fault] is the text of an error, and where it occurred.
//
// connectlimit is a module of its own, and uses [Within]. A user can have an older release of it
// beside a newer one of this package: do not change Within.
package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLength = 4096 // bytes of a text
	maxDepth  = 8    // lists within lists

	spaces = " \t\r\n"
	marks  = "(),"
)

// A Reader reads a text, a word at a time. It keeps the first error. After an error there are no
// more words, so callers can go on without looking for an error.
type Reader struct {
	text  string
	depth int // of lists
	err   error

	word string // the word that is next, or one of the marks; empty at the end
	at   int    // where it starts
	last int    // where the word before it ended
}

// Read calls read with a Reader of s. It returns the first error, which starts with s in quotes,
// unless s is too long. It is an error if read leaves words.
func Read(s string, read func(*Reader)) error {
	if len(s) > maxLength {
		return fmt.Errorf("of %d bytes, must be at most %d", len(s), maxLength)
	}
	r := &Reader{text: s}
	r.next()
	read(r)
	if r.word != "" {
		r.fail("the end")
	}
	return r.err
}

// Kind reads one of the names of kinds, and returns its index. A rate needs no name: if one is
// next, Kind returns 0. After an error it returns -1.
func (r *Reader) Kind(names []string) int {
	if strings.Contains(r.word, "/") {
		return 0
	}
	i := slices.Index(names, r.word)
	if i < 0 {
		r.fail(anyOf(append([]string{aRate}, names...)))
		return -1
	}
	r.next()
	return i
}

// At returns the place of the next word, for [Reader.FailFrom].
func (r *Reader) At() int { return r.at }

// FailFrom keeps an error for the text that was read since a place.
func (r *Reader) FailFrom(place int, fault string) {
	if r.err == nil {
		r.failAt(place, r.text[place:r.last], fault)
	}
}

// next moves on by a word, but not after an error.
func (r *Reader) next() {
	if r.err != nil {
		return
	}
	r.last = r.at + len(r.word)
	rest := strings.TrimLeft(r.text[r.last:], spaces)
	r.at = len(r.text) - len(rest)
	end := strings.IndexAny(rest, spaces+marks)
	switch {
	case end < 0:
		end = len(rest)
	case end == 0:
		end = 1 // a mark
	}
	r.word = rest[:end]
}

// ended reports whether the text ends here, or this part of a list.
func (r *Reader) ended() bool {
	return r.word == "" || r.depth > 0 && (r.word == "," || r.word == ")")
}

// fail keeps the error that the next word is not what it must be.
func (r *Reader) fail(must string) { r.failAt(r.at, r.word, "must be "+must) }

// failAt keeps the error of a part of the text, unless there was one before.
func (r *Reader) failAt(at int, part, fault string) {
	if r.err != nil {
		return
	}
	where := "the end"
	if at < len(r.text) {
		where = strconv.Quote(part)
	}
	r.err = fmt.Errorf("%q: at byte %d, %s: %s", r.text, at, where, fault)
	r.word = ""
}

// anyOf is "a, b or c".
func anyOf(words []string) string {
	n := len(words) - 1
	if n == 0 {
		return words[0]
	}
	return strings.Join(words[:n], ", ") + " or " + words[n]
}
