package checks

import (
	"flag"
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
)

// Main is for TestMain. It runs more tests at once than there are processors, because most of them
// wait for a fault to last. The flag -parallel is read later, and wins.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	runs.Main(m)
}
