package weir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{$`)
	goFile    = regexp.MustCompile(`\]\(\.\./([\w/.-]+\.go)\)`) // a link to it
)

// Go code in the documents is either whole files or whole functions. A file that is a program runs,
// and prints what the text block after it says; a file of tests passes. A function stands word for
// word in a file that the document links: a test, or a part of an example that has tests. This way,
// code that needs other modules runs in the module that links them.
func TestDocsCode(t *testing.T) {
	runs.SkipDear(t) // it builds a program
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	code := newGoFiles(t)
	var prints []string // by each program
	excerpts := 0
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
		for i, block := range blocks {
			switch text := string(text); {
			case block[1] != "go":
			case !strings.HasPrefix(block[2], "package "):
				excerpts++
				assert.True(t, isLinked(t, text, block[2]), "%s links no file with this:\n%s", doc, block[2])
			case strings.Contains(block[2], "\nfunc Test"):
				code.addTests(block[2])
			default:
				code.addProgram(len(prints), block[2])
				require.Less(t, i+1, len(blocks), "%s: what does the program print?", doc)
				prints = append(prints, blocks[i+1][2])
			}
		}
	}
	assert.NotEmpty(t, prints)
	assert.NotEmpty(t, code.main.tests)
	assert.Positive(t, excerpts)

	binary := code.build()
	for i, want := range prints {
		assert.Equal(t, want, printed(t, binary, strconv.Itoa(i)))
	}
	printed(t, binary, "")
}

// isLinked reports whether one of the files that a document links has the code.
func isLinked(t *testing.T, doc, code string) bool {
	for _, link := range goFile.FindAllStringSubmatch(doc, -1) {
		file, err := os.ReadFile(link[1])
		require.NoError(t, err)
		if strings.Contains(string(file)+"\n", "\n\n"+code+"\n") {
			return true
		}
	}
	return false
}

// goFiles are files of Go, each a package as if it belonged to this module. They become one test
// binary, which tests and runs all of them: to link one for each takes several times as long.
type goFiles struct {
	t       *testing.T
	dir     string
	overlay struct{ Replace map[string]string } // where the files are that the module does not have
	main    struct{ imports, programs, tests string }
}

func newGoFiles(t *testing.T) *goFiles {
	f := &goFiles{t: t, dir: t.TempDir()}
	f.overlay.Replace = make(map[string]string)
	return f
}

// addProgram adds a program, the number n. Its main becomes Main.
func (f *goFiles) addProgram(n int, code string) {
	code = strings.Replace(strings.Replace(code, "package main\n", "package program\n", 1), "\nfunc main() {", "\nfunc Main() {", 1)
	f.main.programs += fmt.Sprintf("case \"%d\": %s.Main()\n", n, f.add(code))
}

// addTests adds a file of tests.
func (f *goFiles) addTests(code string) {
	pkg := f.add(code)
	for _, test := range testFunc.FindAllStringSubmatch(code, -1) {
		f.main.tests += fmt.Sprintf("func %s(t *testing.T) { %s.%[1]s(t) }\n", test[1], pkg)
	}
}

// add adds a package, and returns the name by which it is imported.
func (f *goFiles) add(code string) string {
	name := fmt.Sprintf("code%d", len(f.overlay.Replace))
	f.put(path.Join("docs", name), "doc.go", code)
	f.main.imports += fmt.Sprintf("%s %q\n", name, path.Join("github.com/weir-go/weir/docs", name))
	return name
}

// put puts a file into a package.
func (f *goFiles) put(pkg, name, code string) {
	file := filepath.Join(f.dir, fmt.Sprintf("%d_%s", len(f.overlay.Replace), name))
	require.NoError(f.t, os.WriteFile(file, []byte(code), 0o600))
	inModule, err := filepath.Abs(filepath.Join(pkg, name))
	require.NoError(f.t, err)
	f.overlay.Replace[inModule] = file
}

// programEnv has the test binary run the program of this number in place of the tests.
const programEnv = "WEIR_DOCS_PROGRAM"

// build builds the test binary.
func (f *goFiles) build() string {
	f.put("docs/all", "main_test.go", "package all\nimport (\n\"os\"\n\"testing\"\n"+f.main.imports+")\n"+f.main.tests+
		"func TestMain(m *testing.M) {\nswitch os.Getenv(\""+programEnv+"\") {\ncase \"\": m.Run()\n"+f.main.programs+"}\n}\n")
	overlay, err := json.Marshal(f.overlay)
	require.NoError(f.t, err)
	file, binary := filepath.Join(f.dir, "overlay.json"), filepath.Join(f.dir, "all.test")
	require.NoError(f.t, os.WriteFile(file, overlay, 0o600))
	// To link what a debugger needs takes a third of the time.
	out, err := exec.CommandContext(f.t.Context(), "go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, "-ldflags=-s -w", "./docs/all").CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	return binary
}

// printed is what a test binary prints, or one of the programs in it.
func printed(t *testing.T, binary, program string) string {
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), programEnv+"="+program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// Sessions of a console in the documents stand word for word in a file of the command weir. A test
// of that module runs them.
func TestDocsConsole(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	file, err := os.ReadFile("cmd/weir/testdata/tuning.txt")
	require.NoError(t, err)
	sessions := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "console" {
				sessions++
				assert.Contains(t, "\n"+string(file), "\n"+block[2], doc)
			}
		}
	}
	assert.Positive(t, sessions)
}

var changeRow = regexp.MustCompile("(?m)^\\| `(.*)` \\| (\\d+) \\| `(.*)` \\| (\\d+) of (\\d+) \\| (\\d+) after (\\w+) \\|$")

// docs/limits.md has a table of what a key keeps when its policy changes.
func TestDocsChanges(t *testing.T) {
	text, err := os.ReadFile("docs/limits.md")
	require.NoError(t, err)
	rows := changeRow.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 12)
	for _, row := range rows {
		t.Run(row[1]+" to "+row[3], func(t *testing.T) {
			number := func(i int) int {
				n, err := strconv.Atoi(row[i])
				require.NoError(t, err)
				return n
			}
			policy := func(i int) weir.Policy {
				p, err := weir.ParsePolicy(row[i])
				require.NoError(t, err)
				return p
			}
			mock := clock.NewMock()
			l := weir.Must(weir.New(policy(1), weir.WithClock(mock)))
			require.True(t, kit.Take(t, l, "k", number(2)).Allowed)
			kit.SetPolicy(t, l, policy(3))
			mock.Add(time.Second / 100)
			r := kit.Take(t, l, "k", 1<<20) // from here the share counts
			require.False(t, r.Allowed)
			assert.Equal(t, number(4), r.Remaining)
			assert.Equal(t, number(5), r.Limit)

			later, err := time.ParseDuration(row[7])
			require.NoError(t, err)
			mock.Add(later)
			assert.Equal(t, number(6), kit.Take(t, l, "k", 0).Remaining)
		})
	}
}

// Two buckets of different rates may pass their sum, says docs/limits.md, and no more.
func TestDocsChangesTwoRates(t *testing.T) {
	policies := []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.TokenBucket{Limit: 9, Per: time.Second},
	}
	seconds := runs.Long(100, 15)
	l, clock := kit.Frozen(policies[0])
	granted := 0
	for i := range seconds * 100 {
		kit.SetPolicy(t, l, policies[i%2])
		if l.Allow("k") {
			granted++
		}
		clock.Time = clock.Add(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, granted, 10+9+19*seconds)
	assert.GreaterOrEqual(t, granted, 9*seconds)
}

// If a struct of the package embedded an error, go doc would not list New beside KeyedLimiter.
func TestDocsNew(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "doc", "-short", "KeyedLimiter").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "\nfunc New(")
}
