package replay

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file is a log that can seek.
type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func fileOf(name string, b []byte) Log {
	return Log{name, func() (io.ReadCloser, error) { return file{bytes.NewReader(b)}, nil }}
}

// A file, of which the head is read twice, gives what a pipe gives.
func TestFileIsAsAPipe(t *testing.T) {
	long := strings.Repeat("x", maxLine+1) + "\n"
	made := string(madeLog(2000, 50))
	csv := "time,ip\n1791640536,a\n1791640537,a\nbad\n1791640538,b\n"
	for _, text := range []string{
		"", "\n", made, "\ufeff\n\n" + made, long + "\n" + long + made, made + long, long, csv, long + csv, made + "garbage",
		strings.Repeat("\r\n", maxLine) + csv, "\x1f\x8b", "garbage\n",
	} {
		zip := zipped([]byte(text))
		for _, b := range [][]byte{[]byte(text), zip, zip[:len(zip)*3/4]} {
			for _, format := range []string{"", "combined", "csv"} {
				var bad [2][]string
				var reports [2]*Report
				var errs [2]error
				for i, log := range []Log{logOf("a", b), fileOf("a", b)} {
					reports[i], errs[i] = Run(t.Context(), Config{Format: format, Bad: func(_ string, n int, line []byte, err error) {
						bad[i] = append(bad[i], fmt.Sprintf("%d %.20q %v", n, line, err))
					}}, policies(t, "1/1m"), []Log{log})
				}
				assert.Equal(t, errs[0], errs[1])
				assert.Equal(t, bad[0], bad[1])
				require.Equal(t, reports[0], reports[1], "%.50q as %s", b, format)
			}
		}
	}
}

// Of many files, such as those of a load balancer for a week, only the one that is being read takes
// memory.
func TestManyFiles(t *testing.T) {
	const files = 400
	var logs []Log
	for i := range files {
		logs = append(logs, fileOf("a", zipped([]byte(lineAt(float64(1000+i), "x")+lineAt(float64(1000+i), "x")))))
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r, err := newRun(t.Context(), Config{}, logs)
	require.NoError(t, err)
	defer r.close()
	const each = 8 << 10
	assert.Less(t, heap(), before+files*each, "when all are open")
	requests := 0
	require.NoError(t, r.each(func(event, int64) error {
		requests++
		return nil
	}))
	assert.Equal(t, 2*files, requests)
	assert.Less(t, heap(), before+files*each, "when all are read")
}

// Requests without a cost cost nothing, and are counted.
func TestCostless(t *testing.T) {
	log := textLog("a", lineAt(1, "x"), `{"time":2,"ip":"x"}`+"\n", `{"time":3,"ip":"x","cost":"-"}`+"\n", `{"time":4,"ip":"x","cost":0}`+"\n")
	r := runOne(t, Config{Cost: "cost"}, "2/1h", log)
	assert.Equal(t, 4, r.Requests)
	assert.Equal(t, 2, r.Costless)
	assert.Zero(t, runOne(t, Config{}, "2/1h", log).Costless)
}
