package checks

import (
	"flag"
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
)

// Main is for TestMain. It runs more tests at once than there are processors, because most of them wait
// for a fault to last. They are short unless [runs.Long] says otherwise.
func Main(m *testing.M) {
	flag.Parse()
	const atOnce = "12"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err)
		}
	}
	runs.Main(m)
}
