package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// jsonLines reads an object of JSON on each line. Its fields have the names of its members. A name
// with dots goes into objects and arrays: request.headers.X-Forwarded-For.0.
type jsonLines struct {
	names  names
	format string
	stamps stamps
	object []byte // the line, which is valid JSON
}

func (j *jsonLines) Format() string { return j.format }

func (j *jsonLines) Parse(line []byte) (Stamp, error) {
	j.object = nil
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return Stamp{}, errors.New("not an object of JSON")
	}
	j.object = line
	for _, name := range j.names["time"] {
		if b := j.get(name); b != nil {
			return j.stamps.parse(b)
		}
	}
	return Stamp{}, fmt.Errorf("no field with the time, which must be %s", strings.Join(j.names["time"], " or "))
}

func (j *jsonLines) Field(name string) []byte { return j.names.find(name, j.get) }

// Check implements [Parser]. A line may have any member.
func (j *jsonLines) Check(string) error { return nil }

// get returns the text of a scalar, or of the first in an array. It returns nil for null, for an
// object, and if there is none.
func (j *jsonLines) get(name string) []byte {
	value := inner(j.object, name)
	if len(value) > 0 && value[0] == '[' {
		value = member(value, "0")
	}
	switch {
	case len(value) == 0, value[0] == '{', value[0] == '[', string(value) == "null":
		return nil
	case value[0] == '"':
		return unquote(value)
	}
	return value
}

// inner returns the member of that name, or that of a member. A name of either may have dots, too:
// attributes.client.address is also client.address of attributes.
func inner(object []byte, name string) []byte {
	value := member(object, name)
	for i := 0; i < len(name) && value == nil; i++ {
		if name[i] != '.' {
			continue
		}
		if outer := member(object, name[:i]); outer != nil {
			value = inner(outer, name[i+1:])
		}
	}
	return value
}

// unquote returns the text of a valid string.
func unquote(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1]
	}
	var text string
	_ = json.Unmarshal(s, &text) // is valid
	return []byte(text)
}
