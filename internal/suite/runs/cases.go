package runs

import (
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

// Clock are those that depend on whose clock a store decides by.
var Clock = []string{"R6 forgotten in real time", "R10 ", "At", "Clocks", "Backend"}

// Short is [Only] in runs that are not long.
func Short(t *testing.T, names []string) {
	if !Long(true, false) {
		Only(t, names)
	}
}

// Only skips t, a case of storetest, unless its name begins with one of names. It is for stores
// that run code on which another test runs all cases. Call it where storetest makes a store.
func Only(t *testing.T, names []string) {
	for _, name := range names {
		if strings.Contains(t.Name(), "/"+strings.ReplaceAll(name, " ", "_")) {
			return
		}
	}
	t.Skip("another test runs this case on the same code")
}
