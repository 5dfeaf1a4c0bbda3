package main

import (
	"bytes"
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parsed(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(args, new(bytes.Buffer))
	require.NoError(t, err)
	return o
}

func TestFlagDefaults(t *testing.T) {
	want := options{policies: []string{"token-bucket"}, rate: 100, per: time.Second}
	assert.Equal(t, want, parsed(t))
}

func TestFlags(t *testing.T) {
	o := parsed(t, "-policy", "all", "-rate", "7", "-per", "2m", "-burst", "3", "-buckets", "4", "-from-first",
		"-offer", "9", "-outage", "6s,4s", "-plot", "a.svg", "in.txt")
	assert.Equal(t, options{
		policies: policyNames, rate: 7, per: 2 * time.Minute, burst: 3, buckets: 4, fromFirst: true,
		input: "in.txt", offer: 9, outages: []time.Duration{4 * time.Second, 6 * time.Second}, plot: "a.svg",
	}, o)
	o = parsed(t, "-policy", "sliding-log", "-lines", "5", "-out", "-", "-left", "rest.txt")
	assert.Equal(t, []string{"sliding-log"}, o.policies)
	assert.Equal(t, 5, o.lines)
	assert.Equal(t, "-", o.out)
	assert.Equal(t, "rest.txt", o.left)
}

// The error of a bad flag names the given value and what is allowed.
func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, given, allowed string }{
		{"-policy gcra", `"gcra" for flag -policy`, "token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-log, all"},
		{"-rate 0", `"0" for flag -rate`, "whole number, at least 1"},
		{"-rate -3", `"-3" for flag -rate`, "whole number, at least 1"},
		{"-rate 1e3", `"1e3" for flag -rate`, "whole number, at least 1"},
		{"-rate 99999999999999999999", `"99999999999999999999" for flag -rate`, "whole number, at least 1"},
		{"-per 0s", `"0s" for flag -per`, "a time above 0"},
		{"-per 1", `"1" for flag -per`, "a time above 0"},
		{"-burst -1", `"-1" for flag -burst`, "at least 0"},
		{"-buckets x", `"x" for flag -buckets`, "at least 0"},
		{"-policy sliding-window -buckets 3", "Buckets is 3", "a divisor of Per, 1s"},
		{"-lines 0", `"0" for flag -lines`, "at least 1"},
		{"-offer -1", `"-1" for flag -offer`, "at least 0"},
		{"-outage 4", `"4" for flag -outage`, "such as 4s,6s"},
		{"-outage 4s,", `"4s," for flag -outage`, "such as 4s,6s"},
		{"-outage -1s", `"-1s" for flag -outage`, "at least 0s"},
		{"-plot a.gif", `"a.gif" for flag -plot`, ".svg or .png"},
		{"-policy sliding-log -burst 3", "-burst with -policy sliding-log", "token-bucket or all"},
		{"-buckets 2", "-buckets with -policy token-bucket", "sliding-window or all"},
		{"-from-first", "-from-first with -policy token-bucket", "fixed-window or all"},
		{"-lines 5 a.txt", `-lines 5 and the file "a.txt"`, "one of them"},
		{"-policy all", "-policy all with standard input", "a file or -lines"},
		{"-policy all -lines 1 -out b", "-policy all with -out", "without"},
		{"-policy all -lines 1 -left b", "-policy all with -left", "without"},
		{"a.txt b.txt", `["a.txt" "b.txt"]`, "at most one file"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), strings.Fields(c.args), new(bytes.Buffer), &stdout, &stderr)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, stdout.String())
			assert.Contains(t, stderr.String(), c.given)
			assert.Contains(t, stderr.String(), "must")
			assert.Contains(t, stderr.String(), c.allowed)
		})
	}
}

// All faults between flags are reported at once.
func TestBadFlagsTogether(t *testing.T) {
	_, err := parse(strings.Fields("-policy sliding-log -burst 3 -buckets 2 -lines 5 a.txt"), new(bytes.Buffer))
	require.Error(t, err)
	for _, want := range []string{"-burst", "-buckets", "-lines"} {
		assert.ErrorContains(t, err, want)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var help bytes.Buffer
	_, err := parse([]string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{
		"policy", "rate", "per", "burst", "buckets", "from-first", "lines", "offer", "outage", "out", "left", "plot",
	} {
		assert.Regexp(t, `(?m)^  -`+name+`( \w+)?$`, help.String())
	}
	assert.Equal(t, exitSent, run(context.Background(), []string{"-h"}, nil, new(bytes.Buffer), new(bytes.Buffer)))
}
