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

// A command line, and what it prints.
var consoleBlock = regexp.MustCompile("(?ms)^```console\n\\$ (weir [^\n]*)\n(.*?)^```$")

// The commands of docs/tuning.md print what the page says.
func TestDocsTuning(t *testing.T) {
	page, err := os.ReadFile("../../docs/tuning.md")
	require.NoError(t, err)
	t.Chdir("testdata")
	blocks := consoleBlock.FindAllStringSubmatch(string(page), -1)
	assert.Greater(t, len(blocks), 3)
	for _, block := range blocks {
		assert.Equal(t, printed(t, block[1]), block[2], block[1])
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
