package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

var three = []string{"100/1m", "all(5/1s, 60/1m)", "sliding-log 1000/1h"}

func policies(t testing.TB, texts ...string) (ps []weir.Policy) {
	for _, text := range texts {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		ps = append(ps, p)
	}
	return ps
}

func BenchmarkRun(b *testing.B) {
	log := madeLog(1_000_000, 100_000)
	ps := policies(b, three...)
	b.ReportAllocs()
	for b.Loop() {
		report, err := Run(b.Context(), Config{Spread: true}, ps, []Log{logOf("made", log)})
		require.NoError(b, err)
		require.Equal(b, 1_000_000, report.Requests)
	}
}
