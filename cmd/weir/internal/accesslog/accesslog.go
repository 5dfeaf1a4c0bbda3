// Package accesslog reads the lines of the logs of web servers: one request a line. It knows the
// formats in [Formats]. A [Parser] reads one line at a time, so memory does not grow with a log.
package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Parser reads the lines of a log in one format. It is not safe for concurrent use.
type Parser interface {
	// Format is the name of the format, one of [Formats].
	Format() string

	// Parse reads a line, without the bytes that end it. An error says what is wrong with it.
	Parse(line []byte) (Stamp, error)

	// Field returns a field of the line that was parsed last, which must not change in the
	// meantime. It returns nil if the line has no such field, or if the field is empty or "-".
	// These names have a meaning in all formats, if the log has them:
	//
	//	ip user method uri path host status bytes referer agent
	//
	// The uri is the path with its query. The ip has no port. All other names are those of the
	// format.
	Field(name string) []byte

	// Check returns an error that wraps [ErrField] if it finds that no line can have the field.
	Check(field string) error
}

// common are the names of fields that have a meaning in all formats.
var common = []string{"ip", "user", "method", "uri", "path", "host", "status", "bytes", "referer", "agent"}

// Formats are the names of the formats.
//
//   - combined is the Combined Log Format of nginx and Apache, and the Common Log Format.
//   - alb is that of an AWS Application Load Balancer.
//   - caddy, envoy and traefik are their lines of JSON.
//   - json is any object on each line, with usual names of fields.
//   - csv has the names of its columns in the first line.
func Formats() []string {
	return []string{"combined", "alb", "caddy", "traefik", "envoy", "json", "csv"}
}

// Options are for logs whose format does not say everything.
type Options struct {
	Time string // the field of JSON or CSV with the time; "" for the usual names
}

// TakesTime reports whether the Time of [Options] means something in a format.
func TakesTime(format string) bool { return format != "combined" && format != "alb" }

// New returns a Parser of a format by its name. head are the first lines of the log. skip is how
// many of them are no requests: the first line of a CSV.
func New(format string, head [][]byte, o Options) (p Parser, skip int, err error) {
	switch format {
	case "combined":
		return &combined{}, 0, nil
	case "alb":
		return &alb{}, 0, nil
	case "csv":
		if len(head) == 0 {
			return nil, 0, errors.New("a CSV needs a first line with the names of its columns")
		}
		lines, err := newCSV(head[0], o)
		if err != nil {
			return nil, 0, err // and not a Parser that is no nil
		}
		return lines, 1, nil
	}
	for _, server := range servers {
		if server.name == format {
			return &jsonLines{names: server.names.with(o), format: format}, 0, nil
		}
	}
	return nil, 0, fmt.Errorf("format is %q, must be one of %s", format, strings.Join(Formats(), ", "))
}

// Guess returns a Parser for a log that starts with head: the one that finds the client's address
// in most of these lines. If none finds an address, it is that of JSON or CSV which reads most of
// them. Of several it is the first in [Formats]. Of a CSV, the line with the names is enough.
func Guess(head [][]byte, o Options) (best Parser, skip int, err error) {
	most := 0
	for _, format := range Formats() {
		p, s, err := New(format, head, o)
		if err != nil {
			continue
		}
		score := 0
		if format == "csv" && s == len(head) { // nothing was logged yet
			score = 1
		}
		for _, line := range head[s:] {
			_, err := p.Parse(line)
			switch {
			case err != nil:
			case p.Field("ip") != nil:
				score += len(head)
			case format == "json" || format == "csv": // whose fields may have any name
				score++
			}
		}
		if score > most {
			best, skip, most = p, s, score
		}
	}
	if best == nil {
		return nil, 0, fmt.Errorf("the format is not recognized, must be one of %s%s", strings.Join(Formats(), ", "), because(head, o))
	}
	return best, skip, nil
}

// because says what is wrong with the first line of JSON, of a CSV, or of a log that is like
// combined. Of other lines it says nothing.
func because(head [][]byte, o Options) string {
	format := "csv"
	switch {
	case len(head) == 0:
		return ""
	case bytes.HasPrefix(head[0], []byte("{")):
		format = "json"
	case bytes.Contains(head[0], []byte(" HTTP/")): // whose agents have commas, too
		format = "combined"
	case !bytes.ContainsAny(head[0], ",;\t"):
		return ""
	}
	p, skip, err := New(format, head, o)
	if err == nil && skip < len(head) {
		_, err = p.Parse(head[skip])
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("; of %s, %v", format, err)
}

// ErrField is wrapped by the errors of [Parser.Check].
var ErrField = errors.New("the format does not have it")

// oneOf returns an error if field is none of the names of a format.
func oneOf(field, format string, names []string) error {
	if slices.Contains(names, field) {
		return nil
	}
	return fmt.Errorf("field is %q, must be one of those of %s: %s (%w)", field, format, shorten(strings.Join(names, ", "), 1000), ErrField)
}
