package refusallog

import (
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/weir-go/weir"
)

func message(r weir.Refusal) string {
	switch {
	case !r.Enforced:
		return "request would be refused"
	case r.Err != nil && !isDenial(r.Err):
		return "request without a decision"
	}
	return "request refused"
}

// attrs are the fields of a line.
func (l *Log) attrs(r weir.Refusal, leftOut int64) []slog.Attr {
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs, slog.String("limiter", l.limiter))
	if l.key != nil {
		attrs = append(attrs, slog.String("key", printable(l.key(r.Key))))
	}
	attrs = append(attrs, slog.Int("events", r.N))
	if r.Result.Limit > 0 { // else it is not known
		attrs = append(attrs, slog.Int("limit", r.Result.Limit), slog.Int("remaining", r.Result.Remaining))
		if r.Result.RetryAfter != weir.Never {
			attrs = append(attrs, slog.Duration("retry_after", r.Result.RetryAfter))
		}
	}
	if r.Result.Degraded {
		attrs = append(attrs, slog.Bool("degraded", true))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", printable(r.Err.Error())))
	}
	return append(attrs, slog.Int64("left_out", leftOut))
}

const longestText = 500 // bytes of a key or an error that are logged

// printable returns a text that does no harm in a log, whatever the handler does with it. Clients
// choose the bytes of many keys. A JSONHandler passes on control characters of terminals, such as
// U+009B, and characters that change the direction of the text.
//
// Text that is printable stays as it is. All else becomes a quoted string of Go. Long text is cut.
func printable(s string) string {
	cut := ""
	if len(s) > longestText {
		end := longestText
		for end > longestText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s, cut = s[:end], "..."
	}
	if isPrintable(s) {
		return s + cut
	}
	return strconv.Quote(s) + cut
}

// isPrintable reports whether s may be logged as it is. No such text looks like a quoted one.
func isPrintable(s string) bool {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s) && (s == "" || s[0] != '"')
}
