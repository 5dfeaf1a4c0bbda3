package redisstore

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more tests at once than there are processors, for most of them wait for a fault to last.
func TestMain(m *testing.M) {
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
