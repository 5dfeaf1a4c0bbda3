package weir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var codeBlock = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// A link to a file of tests.
var testFile = regexp.MustCompile(`\]\(\.\./([\w/.-]+_test\.go)\)`)

// Go code in the documents is whole files. Programs run, and print what the text block after them
// says; tests pass. Or it is whole functions, which stand word for word in a file of tests that the
// document links. So code that links other modules is run where they are linked.
func TestDocsCode(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	programs, tests, excerpts := 0, 0, 0
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
		for i, block := range blocks {
			if block[1] != "go" {
				continue
			}
			if !strings.HasPrefix(block[2], "package ") {
				excerpts++
				assert.True(t, inTests(t, string(text), block[2]), "%s links no test with this:\n%s", doc, block[2])
				continue
			}
			if strings.Contains(block[2], "\nfunc Test") {
				tests++
				goCommand(t, "test", "doc_test.go", block[2])
				continue
			}
			programs++
			printed := goCommand(t, "run", "doc.go", block[2])
			require.Less(t, i+1, len(blocks), "%s: what does the program print?", doc)
			assert.Equal(t, blocks[i+1][2], printed, doc)
		}
	}
	assert.Positive(t, programs)
	assert.Positive(t, tests)
	assert.Positive(t, excerpts)
}

// inTests reports whether one of the tests that a document links has the code.
func inTests(t *testing.T, doc, code string) bool {
	for _, link := range testFile.FindAllStringSubmatch(doc, -1) {
		file, err := os.ReadFile(link[1])
		require.NoError(t, err)
		if strings.Contains(string(file), "\n\n"+code+"\n") {
			return true
		}
	}
	return false
}

// goCommand runs "go verb" on a file, as if it belonged to this module.
func goCommand(t *testing.T, verb, name, code string) string {
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", verb, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
