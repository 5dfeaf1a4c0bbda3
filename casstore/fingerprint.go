package casstore

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// A fingerprint is a text that is equal for equal policies in all processes.
type fingerprint struct {
	strings.Builder
	partial bool // the text does not contain everything in the policy
}

// fingerprintOf returns the fingerprint of a policy without a text that ParsePolicy reads. It is
// the policy's own text, or else the contents of the policy. Pointers are followed, and functions
// count as equal.
func fingerprintOf(p weir.Policy) (text string, partial bool) {
	var f fingerprint
	f.policy(p)
	return f.String(), f.partial
}

func (f *fingerprint) policy(p weir.Policy) {
	if parts := weir.Components(p); parts != nil { // the text of a composed policy may describe what its parts embed, not the parts
		fmt.Fprintf(f, "%T %d,", p, len(parts))
		for _, part := range parts {
			f.policy(part)
		}
		return
	}
	if m, ok := p.(encoding.TextMarshaler); ok && !mayBePromoted(reflect.TypeOf(p)) {
		if text, err := m.MarshalText(); err == nil {
			fmt.Fprintf(f, "%T %d,%s", p, len(text), text)
			return
		}
	}
	f.value(reflect.ValueOf(p), 0)
}

// mayBePromoted reports whether the text form may be that of an embedded policy, without the other
// fields.
func mayBePromoted(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	marshaler := reflect.TypeFor[encoding.TextMarshaler]()
	for i := range t.NumField() {
		// A pointer to a pointer, or to an interface, has no methods.
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(marshaler) || reflect.PointerTo(f.Type).Implements(marshaler)) {
			return true
		}
	}
	return false
}

// deepest bounds the depth to which a policy is read, because a policy may contain itself.
const deepest = 32

var locationType = reflect.TypeFor[time.Location]()

func (f *fingerprint) value(v reflect.Value, depth int) {
	if !v.IsValid() || depth > deepest {
		f.partial = f.partial || v.IsValid()
		f.WriteString("nil;")
		return
	}
	t := v.Type()
	fmt.Fprintf(f, "%s.%s:", t.PkgPath(), t)
	if t == locationType {
		f.location(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		f.value(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			f.value(v.Field(i), depth+1)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(f, "%d,", v.Len())
		for i := range v.Len() {
			f.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		var entries []string
		for iter := v.MapRange(); iter.Next(); {
			var e fingerprint
			e.value(iter.Key(), depth+1)
			e.value(iter.Value(), depth+1)
			f.partial = f.partial || e.partial
			entries = append(entries, e.String())
		}
		slices.Sort(entries)
		fmt.Fprintf(f, "%d,%s", len(entries), strings.Join(entries, ""))
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		f.partial = f.partial || !v.IsZero()
	default:
		fmt.Fprintf(f, "%#v;", v)
	}
}

// location returns the name of a time zone. Its other contents depend on the data and the latest
// look-up of this process. It may be in an unexported field, so its methods can't be called.
func (f *fingerprint) location(v reflect.Value) {
	if v.CanAddr() && v.Addr().Pointer() == reflect.ValueOf(time.Local).Pointer() {
		fmt.Fprintf(f, "%q;", time.Local) // its first use, perhaps at this moment, gives it its name
		return
	}
	fmt.Fprintf(f, "%q;", v.FieldByName("name").String())
}
