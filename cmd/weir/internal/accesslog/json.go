package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// jsonLines reads an object of JSON on each line. Its fields have the names of its members. A name
// with dots goes into objects and arrays: request.headers.X-Forwarded-For.0.
type jsonLines struct {
	names  names
	format string
	stamps stamps
	object map[string]json.RawMessage
}

func (j *jsonLines) Format() string { return j.format }

func (j *jsonLines) Parse(line []byte) (Stamp, error) {
	clear(j.object)
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return Stamp{}, errors.New("not an object of JSON")
	}
	if err := json.Unmarshal(line, &j.object); err != nil {
		return Stamp{}, err
	}
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

// get returns the text of a scalar, or of the first in an array, which is nil for null.
func (j *jsonLines) get(name string) []byte {
	value, ok := j.object[name]
	for object, rest := j.object, name; !ok; {
		var first string
		var more bool
		if first, rest, more = strings.Cut(rest, "."); !more {
			if value, ok = object[first]; !ok {
				return nil
			}
			break
		}
		if object = members(object[first]); object == nil {
			return nil
		}
	}
	if len(value) > 0 && value[0] == '[' {
		value = members(value)["0"]
	}
	switch {
	case len(value) == 0, value[0] == '{', value[0] == '[', string(value) == "null":
		return nil
	case value[0] != '"':
		return value
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	var s string
	_ = json.Unmarshal(value, &s) // the line was parsed
	return []byte(s)
}

// members returns the members of an object, or the items of an array by their numbers.
func members(value json.RawMessage) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if len(value) == 0 || value[0] != '[' {
		_ = json.Unmarshal(value, &object) // leaves nil for a scalar
		return object
	}
	var items []json.RawMessage
	_ = json.Unmarshal(value, &items)
	object = make(map[string]json.RawMessage, len(items))
	for i, item := range items {
		object[strconv.Itoa(i)] = item
	}
	return object
}
