package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestTableIsReadAsWritten(t *testing.T) {
	made := table{"go1.26.8", []count{{"TokenBucket, Allow", 391, 0, 0}, {"All of two, new key", 2539, 1.25, 117.5}}}
	got, err := parse(made.String())
	if err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("%+v is read as %+v, %v", made, got, err)
	}
}

func TestTablesWithFaults(t *testing.T) {
	good := table{"go1.26.8", []count{{"TokenBucket, Allow", 391, 0, 0}}}.String()
	for _, text := range []string{
		"",
		"\n",
		head + "go1.26.8",
		strings.Replace(good, "What", "Which", 1),
		strings.Replace(good, "391", "many", 1),
		strings.Replace(good, "TokenBucket, Allow", "", 1),
		good + "\n",
		good + "LeakyBucket, Allow 1 2\n",
	} {
		if got, err := parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestChanges(t *testing.T) {
	all := figures
	for _, c := range []struct {
		was, is count
		figures []figure
		want    string // empty for no change
	}{
		{count{"a", 400, 0, 0}, count{"a", 400, 0, 0}, all, ""},
		{count{"a", 400, 0, 0}, count{"a", 420, 0.05, 1}, all, ""},
		{count{"a", 400, 2, 90}, count{"a", 380, 1.91, 85.5}, all, ""},
		{count{"a", 400, 0, 0}, count{"a", 421, 0, 0}, all, "a: 421 instructions, was 400. If it must be so: " + renew},
		{count{"a", 400, 0, 0}, count{"a", 379, 0, 0}, all, "a: 379 instructions, was 400. It is better now. To keep it so: " + renew},
		{count{"a", 400, 0, 0}, count{"a", 400, 1, 0}, all, "a: 1 allocations, was 0. If it must be so: " + renew},
		{count{"a", 400, 1, 16}, count{"a", 400, 0, 16}, all, "a: 0 allocations, was 1. It is better now. To keep it so: " + renew},
		{count{"a", 400, 1, 16}, count{"a", 400, 1, 24.5}, all, "a: 24.5 bytes, was 16. If it must be so: " + renew},
		{count{"a", 400, 1, 16}, count{"a", 999, 1, 16}, all[1:], ""},
		{count{"a", 400, 1, 16}, count{"a", 400, 9, 99}, all[:1], ""},
		{count{"a", 10, 0, 0}, count{"a", 11, 0, 0}, all, ""},
		{count{"a", 10, 0, 0}, count{"b", 10, 0, 0}, all, "b: is not in " + file + ". To add it: " + renew + "\na: is in " + file + " only. To remove it: " + renew},
	} {
		got := strings.Join(changes([]count{c.was}, []count{c.is}, c.figures...), "\n")
		if got != c.want {
			t.Errorf("from %+v to %+v:\n%s\nmust be\n%s", c.was, c.is, got, c.want)
		}
	}
}

func TestRenewingKeepsWhatHasNotChanged(t *testing.T) {
	was := []count{{"a", 1000, 0, 0}, {"b", 1000, 0, 0}, {"c", 1000, 1, 16}, {"gone", 1000, 0, 0}}
	is := table{"go1.27", []count{{"new", 1001, 0, 0}, {"c", 1001, 1, 24}, {"b", 1011, 0, 0}, {"a", 1009, 0.01, 0.4}}}
	want := table{"go1.27", []count{{"new", 1001, 0, 0}, {"c", 1001, 1, 24}, {"b", 1011, 0, 0}, {"a", 1000, 0, 0}}}
	if got := is.steadied(was); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, must be %+v", got, want)
	}
}

func TestSameMinor(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"go1.26.8", "go1.26.9", true},
		{"go1.26.8", "go1.26", true},
		{"go1.26.8", "go1.26rc1", true},
		{"go1.26.8", "go1.26.8-X:nodwarf5", true},
		{"go1.26.8", "go1.2.8", false},
		{"go1.26.8", "go1.27.0", false},
		{"go1.26.8", "devel +abc", false},
	} {
		if got := sameMinor(c.a, c.b); got != c.want {
			t.Errorf("%s and %s have the same minor version: %v", c.a, c.b, got)
		}
	}
}

func TestExecutedIsRead(t *testing.T) {
	const said = `==7== Cachegrind, a cache and branch-prediction profiler
==7== Command: ./counts decide
==7==
==7== I   refs:      78,789,538
`
	if got, err := parseExecuted(said); got != 78_789_538 || err != nil {
		t.Errorf("is read as %d, %v", got, err)
	}
	if got, err := parseExecuted("==7== I1  misses: 3\n"); err == nil {
		t.Errorf("without a number it is read as %d", got)
	}
}
