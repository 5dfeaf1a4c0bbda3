package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A placed word stands at a byte of the text.
type placed struct {
	word string
	at   int
}

// wordsOf reads all words of s.
func wordsOf(s string) (words []placed) {
	r := &Reader{text: s}
	for r.next(); r.word != ""; r.next() {
		words = append(words, placed{r.word, r.at})
	}
	return words
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]placed{
		"":                     nil,
		" \t\r\n":              nil,
		"one":                  {{"one", 0}},
		"  one\ttwo ":          {{"one", 2}, {"two", 6}},
		"one(two,\n(3))":       {{"one", 0}, {"(", 3}, {"two", 4}, {",", 7}, {"(", 9}, {"3", 10}, {")", 11}, {")", 12}},
		"µ=\xff\x00 100/1m":    {{"µ=\xff\x00", 0}, {"100/1m", 6}},
		"no\u00a0break\vspace": {{"no\u00a0break\vspace", 0}},
	} {
		assert.Equal(t, want, wordsOf(text), "%q", text)
	}
}

func TestReadReturnsTheFirstError(t *testing.T) {
	err := Read("one two three", func(r *Reader) {
		r.next()
		assert.NoError(t, r.err)
		r.fail("2")
		assert.Error(t, r.err)
		r.next()
		assert.Empty(t, r.word, "there are no more words")
		r.fail("3")
		r.FailFrom(0, "is a fault")
	})
	require.EqualError(t, err, `"one two three": at byte 4, "two": must be 2`)

	require.EqualError(t, Read("one two", (*Reader).next), `"one two": at byte 4, "two": must be the end`)
	require.EqualError(t, Read(" ", func(r *Reader) { r.fail("a word") }), `" ": at byte 1, the end: must be a word`)
	require.NoError(t, Read("one", (*Reader).next))
}

func TestFailFromNamesWhatWasRead(t *testing.T) {
	err := Read("one  two three  four", func(r *Reader) {
		r.next()
		place := r.At()
		r.next()
		r.next()
		r.FailFrom(place, "is a fault")
	})
	require.EqualError(t, err, `"one  two three  four": at byte 5, "two three": is a fault`)
}

func TestReadIsBounded(t *testing.T) {
	none := func(*Reader) {}
	require.NoError(t, Read(strings.Repeat(" ", maxLength), none))
	err := Read(strings.Repeat(" ", maxLength+1), func(*Reader) { t.Error("it is read") })
	require.EqualError(t, err, "of 4097 bytes, must be at most 4096")
}

func TestKind(t *testing.T) {
	for _, test := range []struct {
		text string
		kind int
		next string
	}{
		{"plain 1/s", 0, "1/s"},
		{"fancy 1/s", 1, "1/s"},
		{"1/s", 0, "1/s"},
		{"/", 0, "/"},
	} {
		r := &Reader{text: test.text}
		r.next()
		assert.Equal(t, test.kind, r.Kind([]string{"plain", "fancy"}), test.text)
		assert.Equal(t, test.next, r.word, test.text)
	}
	err := Read("Plain 1/s", func(r *Reader) { assert.Equal(t, -1, r.Kind([]string{"plain", "fancy"})) })
	require.EqualError(t, err, `"Plain 1/s": at byte 0, "Plain": must be a rate such as 100/1m, plain or fancy`)
}

// FuzzWords reads any text. Between its words is white space alone, and a word has neither white
// space nor, beside it, a mark. The error at a word names the word and its place.
func FuzzWords(f *testing.F) {
	for i, seed := range []string{"", "all(300/1m, 1/s burst=2)", " \t(\r,\n))", "\x00µ\xff", "no\u00a0break"} {
		f.Add(seed, uint16(i))
	}
	f.Fuzz(func(t *testing.T, text string, bad uint16) {
		words, end := wordsOf(text), 0
		for _, p := range words {
			require.GreaterOrEqual(t, p.at, end)
			require.Empty(t, strings.Trim(text[end:p.at], spaces))
			end = p.at + len(p.word)
			require.Equal(t, p.word, text[p.at:end])
			require.False(t, strings.ContainsAny(p.word, spaces))
			require.True(t, len(p.word) == 1 || !strings.ContainsAny(p.word, marks))
		}
		require.Empty(t, strings.Trim(text[end:], spaces))
		if int(bad) >= len(words) || len(text) > maxLength {
			return
		}
		err := Read(text, func(r *Reader) {
			for range bad {
				r.next()
			}
			r.fail("x")
		})
		p := words[bad]
		require.EqualError(t, err, fmt.Sprintf("%q: at byte %d, %q: must be x", text, p.at, p.word))
	})
}
