package record_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-go/weir/benchmarks/record"
)

func TestFilesWithFaults(t *testing.T) {
	for _, text := range []string{
		"",
		"goos: linux\n",
		"BenchmarkW1-2 1 30 ns/op\n",
		"BenchmarkW1/contender=weir:TokenBucket 1 30 ns/op\n",
		"BenchmarkW1/contender=weir:TokenBucket-2\n",
		"BenchmarkW1/contender=weir:TokenBucket-2 1 30\n",
		"BenchmarkW1/contender=weir:TokenBucket-2 1 fast ns/op\n",
		"Benchmark\n",
	} {
		if _, err := record.Read(fstest.MapFS{"v0.1.0.txt": {Data: []byte(text)}}); err == nil || !strings.HasPrefix(err.Error(), "v0.1.0.txt: ") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if runs, err := record.Read(fstest.MapFS{}); err == nil {
		t.Errorf("no files hold %v", runs)
	}
}
