package runs

import (
	"slices"
	"strings"
	"testing"
)

// Server are the beginnings of the names of those cases of storetest that depend on a server, on
// its client, or on the code between them and casstore, or the scripts for Redis: what is sent,
// stored, lost, sent at once or expired. The other cases check what is computed.
var Server = []string{
	"Vectors", "R1 ", "R6 time to live", "R7 an older instant", "R10 ", "R11 ", "Change of policy", "Errors",
	"UpTo", "Regardless", "Forgetting", "Parts", "At", "Clocks", "Backend", "Failures", "Expiry",
}

// Client are those of them that depend on the client of a server.
var Client = []string{"R11 keys", "Errors", "Parts", "Backend", "Failures"}

// Clock are those that depend on whose clock a store decides by.
var Clock = []string{"R6 forgotten in real time", "R10 ", "At", "Clocks", "Backend"}

// Dear are those of both that take long and check once more what others do, with other numbers or
// more callers. Runs that are neither long nor in CI, where CI=true, go without them.
var Dear = []string{
	"Vectors", "R7 an older instant", "R11 names", "At", "R10 takes and returns", "R10 many keys", "R10 answers at once", "R10 while time moves",
	"UpTo at once", "Regardless at once", "Forgetting at once",
}

// Short is [Only] in runs that are not long.
func Short(t *testing.T, names []string) {
	if !Long(true, false) {
		Only(t, names)
	}
}

// Brief is [Short] in runs that are neither long nor in CI. It is for stores of which the long run,
// and that with the race detector, check all, and other tests of the package what is computed.
func Brief(t *testing.T, names []string) {
	if !Long(true, InCI(true, false)) {
		Only(t, names)
	}
}

// Only skips t, a case of storetest, unless its name begins with one of names. It also skips the
// cases that are [Dear], unless the run is long or in CI. It is for stores that run code on which
// another test runs all cases. Call it where storetest makes a store.
func Only(t *testing.T, names []string) {
	if !isOf(t, names) {
		t.Skip("another test runs this case on the same code")
	}
	if isOf(t, Dear) {
		SkipDear(t)
	}
}

// SkipDear skips a test that takes long, and mostly checks once more what others do. It runs in CI,
// and in long runs.
func SkipDear(t *testing.T) {
	t.Helper()
	if !Long(true, InCI(true, false)) {
		t.Skip("this test takes long: it runs with CI=true or WEIR_LONG=1")
	}
}

// isOf reports whether the name of a case begins with one of names.
func isOf(t *testing.T, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(t.Name(), "/"+strings.ReplaceAll(name, " ", "_"))
	})
}
