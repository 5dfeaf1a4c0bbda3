package text

import "strings"

// An Option is a field of a policy that may be left out: a word such as burst=20 after a rate.
type Option struct {
	name  string
	sign  string // stands for the value in errors; empty if the option is its name alone
	value Value
}

// Arg is the option name=value. In errors, sign stands for the value.
func Arg(name, sign string, value Value) Option { return Option{name, sign, value} }

// Count is the option name=N, with N at least 1.
func Count(name string, field *int) Option { return Arg(name, "N", number{field, 1, aCount}) }

// Flag is the option of a name alone.
func Flag(name string, field *bool) Option { return Option{name, "", (*flag)(field)} }

type flag bool

func (f *flag) String() string {
	if *f {
		return "true"
	}
	return ""
}

func (f *flag) Set(string) (must string) {
	*f = true
	return ""
}

// String returns the option with a space before it, or nothing if it is left out.
func (o Option) String() string {
	switch value := o.value.String(); {
	case value == "":
		return ""
	case o.sign == "":
		return " " + o.name
	default:
		return " " + o.name + "=" + value
	}
}

func (o Option) usage() string {
	if o.sign == "" {
		return o.name
	}
	return o.name + "=" + o.sign
}

func (o Option) matches(word string) bool {
	name, _, hasValue := strings.Cut(word, "=")
	return name == o.name && hasValue == (o.sign != "")
}

// read reads the word that matches.
func (o Option) read(r *Reader) {
	_, value, _ := strings.Cut(r.word, "=")
	if must := o.value.Set(value); must != "" {
		r.failAt(r.at+len(o.name)+1, value, "must be "+must)
	}
	r.next()
}
