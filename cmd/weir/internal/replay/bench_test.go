package replay

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func policies(t testing.TB, texts ...string) (ps []weir.Policy) {
	for _, text := range texts {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		ps = append(ps, p)
	}
	return ps
}

// BenchmarkRun replays a log of a million lines by 100,000 clients, from a file, with three
// policies. Run it alone, for its memory: MB-sys is all that the process has taken from the system.
//
//	go test -run '^$' -bench Run -benchtime 3x ./internal/replay
func BenchmarkRun(b *testing.B) {
	const requests, clients = 1_000_000, 100_000
	name := filepath.Join(b.TempDir(), "access.log")
	file, err := os.Create(name)
	require.NoError(b, err)
	w := bufio.NewWriter(file)
	writeMade(w, requests, clients)
	require.NoError(b, w.Flush())
	require.NoError(b, file.Close())
	ps := policies(b, "100/1m", "all(5/1s, 60/1m)", "sliding-log 1000/1h")
	for b.Loop() {
		report, err := Run(b.Context(), Config{Spread: true}, ps, []Log{{name, func() (io.ReadCloser, error) { return os.Open(name) }}})
		require.NoError(b, err)
		require.Equal(b, requests, report.Requests)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB-sys")
}
