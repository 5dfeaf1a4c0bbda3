package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The file has command lines, each with what it prints. A test of package weir checks that what
// docs/tuning.md shows is in it.
func TestDocsTuning(t *testing.T) {
	t.Chdir("testdata")
	file, err := os.ReadFile("tuning.txt")
	require.NoError(t, err)
	sessions := strings.Split("\n"+string(file), "\n$ ")[1:]
	assert.Greater(t, len(sessions), 3)
	for _, session := range sessions {
		line, says, _ := strings.Cut(session, "\n")
		assert.Equal(t, printed(t, line), strings.TrimSuffix(says, "\n")+"\n", line)
	}
}

// printed runs a command line, and returns all that it prints. It may end with "| tail -N".
func printed(t *testing.T, line string) string {
	t.Helper()
	line, tail, _ := strings.Cut(line, " | tail -")
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	var out bytes.Buffer
	run(t.Context(), args, strings.NewReader(""), &out, &out)
	if tail == "" {
		return out.String()
	}
	lines := strings.SplitAfter(out.String(), "\n")
	require.Len(t, tail, 1)
	return strings.Join(lines[max(len(lines)-1-int(tail[0]-'0'), 0):], "")
}
