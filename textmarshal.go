package weir

import (
	"fmt"
	"reflect"
	"slices"
)

// marshalPolicy returns a text only if ParsePolicy reads it again, as the same policy.
func marshalPolicy(p Policy) ([]byte, error) {
	text := policyText(p)
	parsed, err := ParsePolicy(text)
	if err != nil {
		return nil, err
	}
	if !saySame(p, parsed) {
		return nil, fmt.Errorf("weir: %T has no text form, since %q says another policy", p, text)
	}
	return []byte(text), nil
}

// unmarshalPolicy sets *into to the policy that text says, if it is of that type.
func unmarshalPolicy[P Policy](text []byte, into *P) error {
	parsed, err := ParsePolicy(string(text))
	if err != nil {
		return err
	}
	p, ok := parsed.(P)
	if !ok {
		return fmt.Errorf("weir: policy %q is a %T, must be a %T", text, parsed, *into)
	}
	*into = p
	return nil
}

// saySame reports whether p and q say the same, whether by themselves or by pointers.
func saySame(p, q Policy) bool {
	p, _ = kindOf(p)
	q, _ = kindOf(q)
	if reflect.TypeOf(p) != reflect.TypeOf(q) {
		return false
	}
	if parts := Components(p); parts != nil {
		return slices.EqualFunc(parts, Components(q), saySame)
	}
	return reflect.DeepEqual(p, q)
}
