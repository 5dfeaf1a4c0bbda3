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

// Go code in the documents is whole files. Programs run, and print what the text block after them
// says; tests pass.
func TestDocsCode(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	programs, tests := 0, 0
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
		for i, block := range blocks {
			if block[1] != "go" {
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
}

// goCommand runs "go verb" on a file, as if it belonged to this module.
func goCommand(t *testing.T, verb, name, code string) string {
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", verb, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
