package script

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// fingerprint is a text that is equal for equal policies, in whatever process: the text form of those
// that have one. Of others, pointers are followed, and functions taken for equal.
func fingerprint(p weir.Policy) string {
	var b strings.Builder
	if m, ok := p.(encoding.TextMarshaler); ok && !mayBePromoted(reflect.TypeOf(p)) {
		if text, err := m.MarshalText(); err == nil {
			return fmt.Sprintf("%T %s", p, text)
		}
	}
	writeValue(&b, reflect.ValueOf(p), 0)
	return b.String()
}

// mayBePromoted tells whether the text form may be that of an embedded policy, which tells nothing of the
// other fields.
func mayBePromoted(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}

// deepest is how far a policy is looked into, so that one that contains itself comes to an end.
const deepest = 32

var locationType = reflect.TypeFor[*time.Location]()

func writeValue(b *strings.Builder, v reflect.Value, depth int) {
	if !v.IsValid() || depth > deepest {
		b.WriteString("nil;")
		return
	}
	t := v.Type()
	fmt.Fprintf(b, "%s.%s:", t.PkgPath(), t)
	if t == locationType { // holds what the process has looked up
		fmt.Fprintf(b, "%v;", v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		writeValue(b, v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			writeValue(b, v.Field(i), depth+1)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%d,", v.Len())
		for i := range v.Len() {
			writeValue(b, v.Index(i), depth+1)
		}
	case reflect.Map:
		var entries []string
		for iter := v.MapRange(); iter.Next(); {
			var e strings.Builder
			writeValue(&e, iter.Key(), depth+1)
			writeValue(&e, iter.Value(), depth+1)
			entries = append(entries, e.String())
		}
		slices.Sort(entries)
		fmt.Fprintf(b, "%d,%s", len(entries), strings.Join(entries, ""))
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
	default:
		fmt.Fprintf(b, "%#v;", v)
	}
}
