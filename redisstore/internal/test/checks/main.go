package checks

import (
	"flag"
	"os"
	"testing"
)

// Main is for TestMain. It runs more tests at once than there are processors, because most of them wait
// for a fault to last.
func Main(m *testing.M) {
	flag.Parse()
	const atOnce = "6"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
