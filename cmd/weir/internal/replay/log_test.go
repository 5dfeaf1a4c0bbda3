package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/accesslog"
	"github.com/weir-go/weir/internal/suite/runs"
)

func TestFieldsThatAreNotThere(t *testing.T) {
	log := textLog("a", `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 x`+"\n", `192.0.2.1 - ann [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 5`+"\n")
	_, err := Run(t.Context(), Config{Key: "account"}, nil, []Log{log})
	assert.ErrorContains(t, err, `a: field is "account", must be one of those of combined: extra1, request, ip, user,`)
	_, err = Run(t.Context(), Config{Cost: "price"}, nil, []Log{log})
	assert.ErrorContains(t, err, `field is "price"`)
	w, err := ParseWhere("price=1")
	require.NoError(t, err)
	_, err = Run(t.Context(), Config{Where: w}, nil, []Log{log})
	assert.ErrorContains(t, err, `field is "price"`)

	json := textLog("b", lineAt(1, "x"))
	_, err = Run(t.Context(), Config{Time: "ts"}, nil, []Log{log})
	require.ErrorIs(t, err, accesslog.ErrField)
	assert.ErrorContains(t, err, `a: the time is "ts", which must be a field of JSON or CSV, and not of combined`)
	_, err = Run(t.Context(), Config{Time: "time"}, nil, []Log{log, json, textLog("c")})
	require.NoError(t, err)

	var bad []string
	note := func(file string, number int, _ []byte, err error) {
		bad = append(bad, fmt.Sprintf("%s:%d: %v", file, number, err))
	}
	r := runOne(t, Config{Key: "user", Bad: note}, "1/1s", log)
	assert.Equal(t, 1, r.Requests)
	r = runOne(t, Config{Cost: "bytes", Bad: note}, "9/1s", log)
	assert.Equal(t, 1, r.Requests)
	assert.Equal(t, []string{"a:1: no field user for the key: weir replay -key names another", `a:1: field bytes for the cost: is "x", must be a number of at least 0`}, bad)
	assert.Equal(t, `line 1: field bytes for the cost: is "x", must be a number of at least 0`, r.Files[0].FirstBad)
}

func TestCost(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 0, "7": 7, "0.5": 1, "1e3": 1000} {
		n, err := cost([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, n, text)
	}
	for _, text := range []string{"-1", "x", "NaN", "Inf", "1e30", "-0.5"} {
		_, err := cost([]byte(text))
		assert.Error(t, err, text)
	}
}

// manyX are copied, because to write gigabytes byte by byte takes seconds.
var manyX = strings.Repeat("x", maxLine)

// longLine is a reader of a line that never seems to end.
type longLine struct{ left int64 }

func (l *longLine) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), l.left, int64(len(manyX)))
	copy(b[:n], manyX)
	l.left -= n
	return int(n), nil
}

// A line of gigabytes is one bad line, and takes no memory.
func TestLongLine(t *testing.T) {
	size := runs.Long(int64(10<<30), int64(100<<20))
	log := Log{"a", func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(lineAt(1, "x")), &longLine{size}, strings.NewReader("\n"+lineAt(2, "x")+"garbage"))), nil
	}}
	var bad []string
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := runOne(t, Config{Bad: func(file string, number int, line []byte, err error) {
		bad = append(bad, fmt.Sprintf("%s:%d: %v: %.3s", file, number, err, line))
	}}, "1/1s", log)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20))
	assert.Equal(t, []string{"a:2: longer than 65536 bytes: xxx", "a:4: not an object of JSON: gar"}, bad)
	assert.Equal(t, 2, r.Requests)
	assert.Equal(t, File{Name: "a", Format: "json", Lines: 4, Bad: 2, FirstBad: "line 2: longer than 65536 bytes"}, r.Files[0])
}

// A long line before all others is one bad line, too.
func TestLongFirstLine(t *testing.T) {
	long := strings.Repeat("x", maxLine+1) + "\n"
	log := lineAt(1, "x") + lineAt(2, "x")
	for _, format := range []string{"", "json"} {
		r := runOne(t, Config{Format: format}, "1/1h", textLog("a", long+"\n"+long+log))
		assert.Equal(t, File{Name: "a", Format: "json", Lines: 4, Bad: 2, FirstBad: "line 1: longer than 65536 bytes"}, r.Files[0])
		assert.Equal(t, 1, r.Policies[0].Refused)
	}
	r := runOne(t, Config{}, "1/1s", textLog("a", long))
	assert.Equal(t, File{Name: "a", Lines: 1, Bad: 1, FirstBad: "line 1: longer than 65536 bytes"}, r.Files[0])
}

// A line without an end, such as that of /dev/zero, does not outlast the context.
func TestEndlessLine(t *testing.T) {
	for _, before := range []string{"", lineAt(1, "x")} {
		ctx, cancel := context.WithCancel(t.Context())
		endless := &cancelling{longLine{math.MaxInt64}, cancel}
		r, err := Run(ctx, Config{}, policies(t, "1/1s"), []Log{{"a", func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(before), endless)), nil
		}}})
		require.NoError(t, err)
		assert.True(t, r.Stopped)
		assert.Equal(t, strings.Count(before, "\n"), r.Requests)
	}
}

// What was read of a pipe counts, although the pipe has no end, and nobody writes to it any more.
func TestStoppedPipe(t *testing.T) {
	for _, text := range []string{lineAt(1, "x") + lineAt(2, "x") + lineAt(3, "y"), ""} {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		go func() {
			for _, s := range []string{text, "{", `"`} { // a write returns when what was before is read
				_, _ = io.WriteString(in, s)
			}
			cancel()
		}()
		r, err := Run(ctx, Config{}, policies(t, "1/1h"), []Log{{"a", func() (io.ReadCloser, error) { return out, nil }}})
		require.NoError(t, err)
		assert.True(t, r.Stopped)
		assert.Equal(t, strings.Count(text, "\n"), r.Requests)
		assert.Empty(t, r.Files[0].Error)
	}
}

// The same if the first line is not that of a CSV.
func TestStoppedPipeOfNoCSV(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	go func() {
		for _, s := range []string{"a,b\nc,d\n", "e"} { // a write returns when what was before is read
			_, _ = io.WriteString(in, s)
		}
		cancel()
	}()
	r, err := Run(ctx, Config{Format: "csv"}, policies(t, "1/1h"), []Log{{"a", func() (io.ReadCloser, error) { return out, nil }}})
	require.NoError(t, err)
	assert.True(t, r.Stopped)
	assert.Zero(t, r.Requests)
}

// cancelling ends a context after a megabyte.
type cancelling struct {
	longLine
	cancel func()
}

func (c *cancelling) Read(b []byte) (int, error) {
	if math.MaxInt64-c.left > 1<<20 {
		c.cancel()
	}
	return c.longLine.Read(b)
}

// What stands before the first line is no part of it: a byte order mark, empty lines and NULs,
// however many.
func TestBeforeTheFirstLine(t *testing.T) {
	const line = `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1` + "\n"
	for before, n := range map[string]int{"": 2, "\ufeff": 2, "\n\r\n": 4, strings.Repeat("\r\n", maxLine): maxLine + 2, "\ufeff\n": 3, "\x00": 2, strings.Repeat("\x00", 3*maxLine): 2, strings.Repeat("\x00", maxLine-9): 2, "\x00\n\x00\r\n\x00": 4} {
		for _, text := range [][]byte{[]byte(before + line + line + "x"), zipped([]byte(before + line + line + "x"))} {
			r := runOne(t, Config{}, "1/1h", logOf("a", text))
			assert.Equal(t, "combined", r.Files[0].Format)
			assert.Equal(t, 1, r.Clients)
			assert.Equal(t, 1, r.Policies[0].Refused)
			assert.Equal(t, fmt.Sprintf("line %d: no time in brackets", n+1), r.Files[0].FirstBad)
		}
	}
}

// A CSV to which nothing was written yet is as good as an empty log.
func TestOnlyTheNamesOfColumns(t *testing.T) {
	r := runOne(t, Config{}, "1/1s", textLog("new", "time,ip\n"), textLog("old", "time,ip\n1791640536,192.0.2.1\n"))
	assert.Equal(t, []File{{Name: "new", Format: "csv"}, {Name: "old", Format: "csv", Lines: 1}}, r.Files)
	assert.Equal(t, 1, r.Requests)
}

// A word of a path may stand where a tar has its mark, and clients choose paths.
func TestTextWithTheMarkOfATar(t *testing.T) {
	for at := range 300 {
		line := `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /` + strings.Repeat("c", at) + `ustard  HTTP/1.1" 200 1` + "\n"
		assert.Equal(t, 1, runOne(t, Config{}, "1/1s", textLog("a", line)).Requests)
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	_, err := Run(t.Context(), Config{}, nil, []Log{textLog("a", "garbage\n")})
	assert.EqualError(t, err, `a: the format is not recognized, must be one of combined, alb, caddy, traefik, envoy, json, csv; its first line is "garbage"`)
	for start, is := range map[string]string{
		"\xfd7zXZ\x00\x00\x04": "compressed by xz", "\x28\xb5\x2f\xfd$,": "compressed by zstd", "BZh91AY&SYx": "compressed by bzip2",
		"PK\x03\x04x": "a zip", "\xff\xfe1\x00": "text in UTF-16", "\xfe\xff\x001": "text in UTF-16",
		"a.log" + strings.Repeat("\x00", 252) + "ustar\x0000" + lineAt(1, "x"): "a tar",
		"a.log" + strings.Repeat("\x00", 252) + "ustar  \x00" + lineAt(1, "x"): "a tar",
	} {
		for _, log := range []Log{textLog("a", start), logOf("a", zipped([]byte(start)))} {
			_, err = Run(t.Context(), Config{}, nil, []Log{log})
			assert.EqualError(t, err, "a: it is "+is+", must be text in UTF-8, or such text compressed by gzip")
		}
	}
	_, err = Run(t.Context(), Config{Format: "xml"}, nil, []Log{textLog("a", "garbage\n")})
	assert.ErrorContains(t, err, `a: format is "xml", must be one of`)
	_, err = Run(t.Context(), Config{}, []weir.Policy{weir.TokenBucket{}}, nil)
	assert.ErrorContains(t, err, "weir.TokenBucket.Limit is 0, must be at least 1")
	gone := errors.New("gone")
	_, err = Run(t.Context(), Config{}, nil, []Log{textLog("a"), {"b", func() (io.ReadCloser, error) { return nil, gone }}})
	assert.ErrorIs(t, err, gone)
	_, err = Run(t.Context(), Config{}, nil, []Log{{"folder", func() (io.ReadCloser, error) { return os.Open(".") }}})
	assert.ErrorContains(t, err, "folder: read .: is a directory")
	r := runOne(t, Config{}, "1/1s", textLog("empty"), textLog("a", lineAt(1, "x")))
	assert.Equal(t, 1, r.Requests)
}
