package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// weirSays runs a command line, and returns what it prints and its exit status.
func weirSays(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"weir"}, args...), strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), status
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"explian"}, `weir: command is "explian", must be one of explain`},
		{[]string{"help", "explian"}, `weir: command is "explian", must be one of explain`},
		{[]string{"explian", "-h"}, `weir: command is "explian", must be one of explain`},
		{[]string{"-help", "explian"}, `weir: command is "explian", must be one of explain`},
		{[]string{"-x"}, "weir: flag provided but not defined: -x (see: weir -help)"},
		{[]string{"explain", "-x"}, "weir: flag provided but not defined: -x (see: weir explain -help)"},
		{[]string{"explain"}, "weir: explain needs a POLICY"},
		{[]string{"explain", "5/1y"}, "weir: policy at byte 2: \"1y\": must be a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w\n\n  5/1y\n    ^\n"},
	} {
		stdout, stderr, status := weirSays(t, "", tt.args...)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, 2, status)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"-help"}, {"--help"}, {"-h"}, {"help"}, {"explain", "-help"}} {
		stdout, stderr, status := weirSays(t, "", args...)
		assert.Contains(t, stdout, "explain")
		assert.Empty(t, stderr)
		assert.Zero(t, status)
	}
	for _, command := range []string{"explain", "replay", "play"} {
		want, _, _ := weirSays(t, "", command, "-h")
		got, _, status := weirSays(t, "", "help", command)
		assert.Equal(t, want, got)
		assert.Zero(t, status)
		for _, args := range [][]string{{"1/1m", "-h"}, {"-h", "1/1m"}, {"--help", "replay"}, {"1/1m", "gone.log", "-help"}} {
			stdout, stderr, status := weirSays(t, "", append([]string{command}, args...)...)
			assert.Equal(t, want, stdout, "%s %q", command, args)
			assert.Empty(t, stderr)
			assert.Zero(t, status)
		}
	}
}

// What cannot be written is a failure, help included.
func TestBrokenOutput(t *testing.T) {
	for _, args := range [][]string{{}, {"-h"}, {"help", "explain"}, {"replay", "-h"}, {"explain", "5/1s"}, {"replay", "5/1s", shop}, {"replay", "5/1s", shop, "-json"}} {
		var stderr bytes.Buffer
		status := run(t.Context(), append([]string{"weir"}, args...), nil, brokenWriter{errors.New("no space left")}, &stderr)
		assert.Equal(t, 1, status, args)
		assert.Equal(t, "weir: no space left\n", stderr.String(), args)
	}
}

// The command knows time zones on machines that have no database of them. A test cannot take that of
// this machine away.
func TestOwnTimeZones(t *testing.T) {
	packages, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	assert.Contains(t, strings.Fields(string(packages)), "time/tzdata")
}
