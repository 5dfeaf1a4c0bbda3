package weir_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	docFile    = regexp.MustCompile("`([a-z][\\w/*-]*\\.(?:go|sh))`")
	anyBlock   = regexp.MustCompile("(?ms)^ *```\\w*\n.*?^ *```$")
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Links in the documents lead to files and headings that are there.
func TestDocsLinks(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("*.md")
	require.NoError(t, err)
	anchors := map[string][]string{} // of the documents that are linked
	for _, doc := range append(docs, more...) {
		for _, link := range docLink.FindAllStringSubmatch(prose(t, doc), -1) {
			path, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := doc
			if path != "" {
				target = filepath.Join(filepath.Dir(doc), path)
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, doc) || anchor == "" {
				continue
			}
			if _, known := anchors[target]; !known {
				anchors[target] = slugs(prose(t, target))
			}
			assert.Contains(t, anchors[target], anchor, "%s links %s", doc, link[1])
		}
	}
}

// The files of Go and the scripts of which these documents tell are where they say.
func TestDocsFiles(t *testing.T) {
	for _, doc := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		names := docFile.FindAllStringSubmatch(prose(t, doc), -1)
		assert.NotEmpty(t, names, doc)
		for _, name := range names {
			found, err := filepath.Glob(name[1])
			require.NoError(t, err)
			assert.NotEmpty(t, found, "%s names %s", doc, name[1])
		}
	}
}

// prose is a document without its blocks of code.
func prose(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return anyBlock.ReplaceAllString(string(text), "")
}

// slugs are the anchors of the headings, as GitHub makes them.
func slugs(doc string) (all []string) {
	for _, h := range docHeading.FindAllStringSubmatch(doc, -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(h[1]), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}
