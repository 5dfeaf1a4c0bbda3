package httplimit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/httplimit"
)

// is returns a KeyFunc with a fixed answer.
func is(key string) httplimit.KeyFunc {
	return func(*http.Request) (string, error) { return key, nil }
}

func fails(err error) httplimit.KeyFunc {
	return func(*http.Request) (string, error) { return "", fmt.Errorf("test: %w", err) }
}

func join(parts ...string) string {
	var keys []httplimit.KeyFunc
	for _, p := range parts {
		keys = append(keys, is(p))
	}
	return keyOf(httplimit.Join(keys...), nil)
}

func TestJoin_PartsDoNotRunTogether(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{
		{"a:b", "c"},
		{"a", "b:c"},
		{"a", "b", "c"},
		{"a:b:c"},
		{"", "a:b:c"},
		{"a:b:c", ""},
		{"", ""},
		{""},
		{"1:a", "1:b"},
		{"1:a1:b"},
		{"a1:b", ""},
		{"\x00", "\x00\x00"},
		{"\x00\x00", "\x00"},
		{"1", "1:"},
		{"11", ":"},
		{"a", "b", "c", "d", "e"},
		{strings.Repeat("a", 200), "b"},
		{strings.Repeat("a", 201), ""},
		{"2", "abcdefghij0"},
		{"11abcdefghij", ""}, // a length without its end would run together with the part
	} {
		key := join(parts...)
		assert.Empty(t, seen[key], "%q", parts)
		seen[key] = parts
	}
}

func TestJoin_WhateverBytesThePartsHold(t *testing.T) {
	// A part of the one pair is moved over to the other part, which is where separators go wrong.
	err := quick.Check(func(a, b string, at uint8) bool {
		all := a + b
		i := int(at) % (len(all) + 1)
		return (join(a, b) == join(all[:i], all[i:])) == (a == all[:i])
	}, nil)
	require.NoError(t, err)
}

func TestJoin_ErrorOfAPart(t *testing.T) {
	assert.Equal(t, "no key", keyOf(httplimit.Join(is("a"), fails(httplimit.ErrNoKey)), nil))
	assert.Equal(t, "skip", keyOf(httplimit.Join(fails(httplimit.ErrSkip), is("a")), nil))
	assert.Equal(t, "error", keyOf(httplimit.Join(is("a"), fails(errStore)), nil))
}

func TestJoin_ChangesAfterwardsHaveNoEffect(t *testing.T) {
	keys := []httplimit.KeyFunc{is("a"), is("b")}
	joined, either := httplimit.Join(keys...), httplimit.Or(keys...)
	keys[0] = is("x")
	assert.Equal(t, join("a", "b"), keyOf(joined, nil))
	assert.Equal(t, "a", keyOf(either, nil))
}

func TestOr(t *testing.T) {
	none := fails(httplimit.ErrNoKey)
	for _, c := range []struct {
		keys []httplimit.KeyFunc
		want string
	}{
		{[]httplimit.KeyFunc{is("a"), is("b")}, "a"},
		{[]httplimit.KeyFunc{none, is("b")}, "\x001:b"},
		{[]httplimit.KeyFunc{is(""), is("b")}, "\x001:b"},
		{[]httplimit.KeyFunc{none, none, is("c")}, "\x002:c"},
		{[]httplimit.KeyFunc{none, none}, "no key"},
		{[]httplimit.KeyFunc{is("")}, "no key"},
		{[]httplimit.KeyFunc{fails(httplimit.ErrSkip), is("b")}, "skip"},
		{[]httplimit.KeyFunc{fails(errStore), is("b")}, "error"}, // a failure is not a missing key
		{nil, "error"},
	} {
		assert.Equal(t, c.want, keyOf(httplimit.Or(c.keys...), nil))
	}
}

// A client cannot make up an API key that is counted as another client's address, to lock it out.
func TestOr_AlternativesAreNeverTheSame(t *testing.T) {
	f := httplimit.Or(httplimit.Header("X-Api-Key"), httplimit.RemoteIP)
	victim := keyOf(f, from("192.0.2.7:1"))
	for _, made := range []string{"192.0.2.7", victim, "\x00" + victim, "1:192.0.2.7"} {
		assert.NotEqual(t, victim, keyOf(f, from("198.51.100.1:1", "X-Api-Key", made)), "%q", made)
	}
	err := quick.Check(func(a, b string) bool {
		none := fails(httplimit.ErrNoKey)
		first, second := httplimit.Or(is(a), is(a)), httplimit.Or(none, is(b))
		return a == "" || b == "" || keyOf(first, nil) != keyOf(second, nil)
	}, nil)
	require.NoError(t, err)
}

func TestOr_NestedInJoin(t *testing.T) {
	f := httplimit.Join(httplimit.Method, httplimit.Or(httplimit.Header("X-Api-Key"), httplimit.RemoteIP))
	a := keyOf(f, from("192.0.2.7:1", "X-Api-Key", "k"))
	b := keyOf(f, from("192.0.2.8:1", "X-Api-Key", "k"))
	assert.Equal(t, a, b)
	assert.NotEqual(t, a, keyOf(f, from("192.0.2.7:1")))
}
