package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// csvLines reads a CSV. Its first line has the names of its columns, with a comma, a semicolon or a
// tab between them. A field in quotes may have these, and a quote as two of them, but no end of a
// line. Blanks around a field, or around its quotes, are no part of it.
type csvLines struct {
	names   names
	columns []string
	comma   byte
	stamps  stamps
	fields  [][]byte
	time    int // its column
}

func newCSV(first []byte, o Options) (*csvLines, error) {
	c := &csvLines{names: servers[len(servers)-1].names.with(o), comma: ',', time: -1} // those of any JSON
	for _, comma := range []byte("\t;") {
		for i, part := range bytes.Split(first, []byte{'"'}) {
			if i%2 == 0 && bytes.IndexByte(part, comma) >= 0 { // not within quotes
				c.comma = comma
			}
		}
	}
	first = bytes.TrimPrefix(first, []byte("\ufeff")) // a byte order mark, as spreadsheets write it
	if err := c.split(first); err != nil {
		return nil, err
	}
	for _, column := range c.fields {
		c.columns = append(c.columns, string(bytes.TrimSpace(column)))
	}
	for _, name := range c.names["time"] {
		if c.time = slices.Index(c.columns, name); c.time >= 0 {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the columns of the CSV are %s, one must be the time: %q", shorten(fmt.Sprintf("%q", c.columns), 1000), c.names["time"])
}

// split cuts a line into fields.
func (c *csvLines) split(line []byte) error {
	c.fields = c.fields[:0]
	for {
		if blank := bytes.TrimLeft(line, " "); len(blank) > 0 && blank[0] == '"' {
			line = blank
			i := 1
			for quotes := false; ; i++ { // quotes: a quote was just before
				if i == len(line) && !quotes {
					return errQuote
				}
				if i == len(line) || quotes && line[i] != '"' {
					break
				}
				quotes = line[i] == '"' && !quotes
			}
			c.fields = append(c.fields, bytes.ReplaceAll(line[1:i-1], []byte(`""`), []byte(`"`)))
			if line = bytes.TrimLeft(line[i:], " "); len(line) == 0 {
				return nil
			}
			if line[0] != c.comma {
				return errors.New("a quoted field does not end with its quote")
			}
			line = line[1:]
			continue
		}
		field, rest, more := bytes.Cut(line, []byte{c.comma})
		c.fields = append(c.fields, bytes.TrimSpace(field))
		if !more {
			return nil
		}
		line = rest
	}
}

func (*csvLines) Format() string { return "csv" }

func (c *csvLines) Parse(line []byte) (Stamp, error) {
	if err := c.split(line); err != nil {
		return Stamp{}, err
	}
	if len(c.fields) != len(c.columns) {
		return Stamp{}, fmt.Errorf("%d fields, must be %d as in the first line", len(c.fields), len(c.columns))
	}
	return c.stamps.parse(c.fields[c.time])
}

func (c *csvLines) get(name string) []byte {
	if i := slices.Index(c.columns, name); i >= 0 && i < len(c.fields) {
		return c.fields[i]
	}
	return nil
}

func (c *csvLines) Field(name string) []byte { return c.names.find(name, c.get) }

func (c *csvLines) Check(field string) error {
	of := field
	if field == "path" {
		of = "uri"
	}
	if inRequest(of) && slices.Contains(c.columns, "request") {
		return nil
	}
	for _, name := range c.names[of] {
		if slices.Contains(c.columns, name) {
			return nil
		}
	}
	return oneOf(field, "this csv", c.columns)
}
