package explain

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// Code returns p as a Go expression with names of the packages weir and time. A policy of another
// package is written as package fmt writes it with %#v.
func Code(p weir.Policy) string {
	components := weir.Components(p)
	switch {
	case components == nil && period(p) == 0: // of another package: its fields may be anything
		return fmt.Sprintf("%#v", p)
	case components == nil:
		return literal(reflect.ValueOf(p))
	}
	name := "All"
	if IsTiers(p) {
		name = "Tiers"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "weir.%s(\n", name)
	for _, c := range components {
		b.WriteString("\t" + strings.ReplaceAll(Code(c), "\n", "\n\t") + ",\n")
	}
	return b.String() + ")"
}

// literal writes a struct with the fields that are not zero.
func literal(v reflect.Value) string {
	var fields []string
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fields = append(fields, v.Type().Field(i).Name+": "+value(f))
		}
	}
	return v.Type().String() + "{" + strings.Join(fields, ", ") + "}"
}

func value(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return goDuration(x)
	case weir.Unit:
		s := x.String()
		return "weir." + strings.ToUpper(s[:1]) + s[1:]
	case string:
		return strconv.Quote(x)
	case weir.TokenBucket:
		return literal(v)
	}
	return fmt.Sprint(v)
}

// goDuration is d in the largest unit of package time in which it is a whole number.
func goDuration(d time.Duration) string {
	for _, u := range []struct {
		name   string
		length time.Duration
	}{
		{"time.Hour", time.Hour},
		{"time.Minute", time.Minute},
		{"time.Second", time.Second},
		{"time.Millisecond", time.Millisecond},
		{"time.Microsecond", time.Microsecond},
		{"time.Nanosecond", time.Nanosecond},
	} {
		switch {
		case d == u.length:
			return u.name
		case d%u.length == 0:
			return strconv.FormatInt(int64(d/u.length), 10) + " * " + u.name
		}
	}
	return "" // not reached: every duration is a whole number of nanoseconds
}
