package accesslog

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse reads any line in any format. A time is never negative, fields never panic, and a line
// that is read twice says the same.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.log")
	require.NoError(f, err)
	for _, file := range files {
		for _, line := range linesOf(f, filepath.Base(file)) {
			f.Add(line)
		}
	}
	head := linesOf(f, "csv.log")
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, format := range Formats() {
			p, _, err := New(format, head, Options{})
			require.NoError(t, err)
			stamp, err := p.Parse(line)
			if err != nil {
				continue
			}
			require.GreaterOrEqual(t, stamp.Nanos, int64(0))
			before := map[string]string{}
			for _, name := range append([]string{"extra1", "request.headers.0", "a.b", ""}, common...) {
				before[name] = string(p.Field(name))
			}
			again, err := p.Parse(bytes.Clone(line))
			require.NoError(t, err)
			require.Equal(t, stamp, again)
			for name, value := range before {
				require.Equal(t, value, string(p.Field(name)), name)
			}
		}
	})
}

// FuzzGuess takes any text for the head of a log, also for that of a CSV.
func FuzzGuess(f *testing.F) {
	f.Add([]byte("time,ip\n1791640536,192.0.2.1"))
	f.Add([]byte("\nno log at all"))
	f.Add([]byte("{\"ts\":1}\n\n[10/Oct/2026:13:55:36 +0000]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Split(text, []byte("\n"))
		p, skip, err := Guess(lines, Options{})
		if err != nil {
			return
		}
		understood := 0
		for _, line := range lines[skip:] {
			if _, err := p.Parse(line); err == nil {
				understood++
			}
		}
		if skip < len(lines) { // else it is a CSV without a line yet
			require.Positive(t, understood)
		}
	})
}
