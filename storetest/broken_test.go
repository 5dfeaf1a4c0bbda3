package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// Each of these stores breaks one rule, as a store in the wild does. The case that is named must
// fail, and name the rule.
func TestBrokenStoresAreCaught(t *testing.T) {
	for _, c := range []struct {
		does      string
		store     sim
		failsCase string
		names     string // what the failure names
	}{
		{"reads and writes in two steps", sim{between: yields}, "R10 takes of one key", r10},
		{"reads and writes in two steps", sim{between: yields}, "R10 no update is lost", r10},
		{"reads and writes in two steps", sim{between: yields}, "R10 takes and returns", r10},
		{"reads and writes in two steps", sim{between: yields}, "R10 many keys", r10},
		{"reads and writes in two steps", sim{between: yields}, "R10 answers at once", r10},
		{"locks each limiter apart", sim{between: yields, apart: byLimiter}, "R10 no update is lost", r10},
		{"tells some what it told the one before", sim{answer: asBefore()}, "R10 answers at once", r10},
		{"has no place for parts", sim{ask: dropParts}, "R10 answers at once", r10},
		{"locks each policy apart", sim{between: yields, apart: byPolicy}, "R10 takes by two policies", r10},
		{"loses an update in a hundred", sim{loses: 101}, "R10 no update is lost", r10},
		{"retries what had succeeded", sim{repeats: 101}, "R10 no update is lost", r10},
		{"retries what had succeeded", sim{repeats: 2}, "R1 all or nothing", r1},
		{"reads the time before it locks, and then clears", sim{early: true, clears: true}, "R10 while time moves", r10},

		{"forgets a tick early", sim{live: tickLess}, "R6 forgotten at the instant and not before", r6},
		{"forgets a tick early", sim{live: tickLess}, "R6 forgetting many keys", r6},
		{"lives for whole seconds", sim{live: wholly(time.Second)}, "R6 time to live is never zero", r6},
		{"lives for whole milliseconds", sim{live: wholly(time.Millisecond)}, "R6 time to live is never zero", r6},
		{"lives for a day at most", sim{live: atMostADay}, "Policy is run as it is", policyRule},
		{"lives for a minute more, which wraps", sim{live: minuteMore}, "Policy is run as it is", policyRule},
		{"drops the oldest of many keys", sim{most: new(suite).few(300)}, "R6 forgetting many keys", r6},
		{"forgets when time steps back", sim{clears: true}, "R7 an older instant earns nothing", r7},
		{"decides by time from another clock", sim{now: realTime}, "R4 RetryAfter is tight", r4},
		{"tells time in milliseconds", sim{unit: time.Millisecond}, "R8 no drift", r8},

		{"joins name and key with a colon", sim{id: joined(":")}, "R11 names are told apart", r11},
		{"joins name and key with a NUL", sim{id: joined("\x00")}, "R11 names are told apart", r11},
		{"ignores the name", sim{id: keyAlone}, "R11 names are told apart", r11},
		{"folds case of names", sim{id: lowerName}, "R11 names are told apart", r11},
		{"folds case", sim{id: mapped(strings.ToLower)}, "R11 keys are told apart", r11},
		{"trims", sim{id: mapped(strings.TrimSpace)}, "R11 keys are told apart", r11},
		{"replaces what isn't UTF-8", sim{id: mapped(validUTF8)}, "R11 keys are told apart", r11},
		{"writes spaces as underscores", sim{id: mapped(replaced(" ", "_"))}, "R11 keys are told apart", r11},
		{"writes dots as dashes", sim{id: mapped(replaced(".", "-"))}, "R11 keys are told apart", r11},
		{"writes colons as dots", sim{id: mapped(replaced(":", "."))}, "R11 keys are told apart", r11},
		{"has a word for the empty key", sim{id: mapped(emptyAs("empty"))}, "R11 keys are told apart", r11},
		{"has a word for the empty name", sim{id: unnamedAs("default")}, "R11 names are told apart", r11},
		{"keeps 250 bytes", sim{id: cut(250)}, "R11 keys are told apart", r11},
		{"forgets short keys", sim{forgets: forgetShort}, "R11 keys are told apart", r11},
		{"forgets short names", sim{forgets: forgetShort}, "R11 names are told apart", r11},
		{"does not forget the empty key", sim{forgets: forgetNotEmpty}, "R11 keys are told apart", r11},
		{"forgets the key in lower case", sim{forgets: forgetFolded}, "R11 keys are told apart", r11},
		{"forgets the name in lower case", sim{forgets: forgetFolded}, "R11 names are told apart", r11},
		{"keeps a megabyte less one", sim{id: cut(1<<20 - 1)}, "R11 keys are told apart", r11},
		{"hashes keys to 32 bits by CRC", sim{id: mapped(crc)}, "R11 keys are told apart", r11},
		{"hashes keys to 32 bits by FNV", sim{id: mapped(fnv1a)}, "R11 keys are told apart", r11},
		{"ends keys at a NUL", sim{id: mapped(beforeNUL)}, "R11 keys are told apart", r11},
		{"keeps the caller's buffer", sim{id: keyAlone}, "R11 keys are copied", r11},

		{"keeps the first word", sim{keep: firstWord}, "R6 forgetting many keys", r6},
		{"keeps as many words as at first", sim{keepsNew: true}, "Policy is run as it is", errorsRule},
		{"keeps 64 kB of a state", sim{keep: first64kB}, "Policy with the longest state", errorsRule},
		{"keeps words as floats", sim{keep: each(asFloat)}, "Policy is run as it is", policyRule},
		{"keeps words of 63 bits", sim{keep: each(of63Bits)}, "Policy is run as it is", policyRule},
		{"keeps all states in one buffer", sim{keep: oneBuffer()}, "Policy is run as it is", policyRule},
		{"answers all of a kind alike", sim{policy: weir.TokenBucket{Limit: 10, Per: time.Second}}, "Vectors", policyRule},

		{"starts anew with another policy", sim{carry: startAnew}, "Change of policy", changeRule},
		{"starts anew with another policy", sim{carry: startAnew}, "Change to and fro", changeRule},
		{"keeps the words of another policy", sim{carry: keepWords}, "Change of policy", changeRule},
		{"takes equal policies for others", sim{same: never}, "Sharing is exact", sharingRule},
		{"compares policies with ==", sim{same: equal}, "Policy that can't be compared", "panic"},
		{"has no names", sim{id: keyAlone}, "Sharing a name", sharingRule},

		{"counts looks", sim{ask: countLooks}, "R3 looking and asking too much", r3},
		{"grants what is left", sim{partly: true}, "R1 all or nothing", r1},
		{"runs up a debt on denials", sim{debt: true}, "R2 denials consume nothing", r2},
		{"grants one less than is left", sim{answer: oneLess}, "R5 Remaining is exact", r5},
		{"tells whole milliseconds, rounded down", sim{answer: roundedDown}, "R4 RetryAfter is tight", r4},
		{"wraps around", sim{answer: wrap}, "R9 nothing wraps around", r9},
		{"tells no more than 16 bits of what it granted", sim{answer: granted16Bits}, "R9 nothing wraps around", r9},
		{"charges no more than 16 bits of a debt", sim{ask: debts16Bits}, "R9 nothing wraps around", r9},
		{"gives back no more than 16 bits", sim{ask: backs16Bits}, "R9 nothing wraps around", r9},

		{"doesn't book", sim{ask: dontBook}, "Booking and giving up", bookingRule},
		{"doesn't give back", sim{ask: dontGiveBack}, "Booking and giving up", bookingRule},
		{"doesn't give back", sim{ask: dontGiveBack}, "Booking in a line", bookingRule},
		{"tells that nobody moves up", sim{answer: nobodyMovesUp}, "Booking and giving up", bookingRule},
		{"books what comes too late", sim{ask: bookAnything}, "Booking too late", bookingRule},
		{"takes twice for who waits", sim{ask: bookTwice}, "Waiting for every policy", bookingRule},
		{"starts anew with another policy", sim{carry: startAnew}, "Change is exact", changeRule},
		{"starts anew with another policy", sim{carry: startAnew}, "Change of composed policies", changeRule},
		{"keeps the counts of two policies", sim{policies: 2}, "Change is exact", changeRule},
		{"keeps no note of a denial", sim{keeps: whenGranted}, "Change of composed policies", changeRule},
		{"grants all or none, as it always did", sim{ask: allOrNone}, "UpTo", upToRule},
		{"grants all or none, as it always did", sim{ask: allOrNone}, "Regardless", regardlessRule},
		{"doesn't tell how many it granted", sim{answer: grantedUntold}, "UpTo", upToRule},
		{"reads and writes in two steps", sim{between: yields}, "UpTo at once", r10},
		{"charges what there is", sim{ask: noDebts}, "Regardless", regardlessRule},
		{"loses an update in a hundred", sim{loses: 101}, "Regardless at once", r10},
		{"gives back the latest", sim{ask: latestBack}, "GivingBack by instant", givingBackRule},
		{"doesn't give back", sim{ask: dontGiveBack}, "GivingBack by instant", givingBackRule},
		{"loses how late events were counted", sim{ask: notLate}, "GivingBack by a clock behind", givingBackRule},
		{"forgets nothing", sim{forgets: forgetNothing}, "Forgetting", forgettingRule},
		{"forgets everything", sim{forgets: forgetAll}, "Forgetting", forgettingRule},
		{"fails to forget what it doesn't know", sim{forgets: forgetKnown}, "Forgetting", forgettingRule},
		{"forgets what its policy wrote", sim{forgets: forgetOwn}, "Forgetting", forgettingRule},
		{"forgets, and decides", sim{forgets: forgetAndTake}, "Forgetting", forgettingRule},
		{"forgets nothing", sim{forgets: forgetNothing}, "Forgetting at once", forgettingRule},
		{"has no names", sim{id: keyAlone}, "Forgetting", forgettingRule},
		{"has no place for parts", sim{ask: dropParts}, "Parts", partsRule},
		{"doesn't tell the instant", sim{at: untold}, "At", atRule},
		{"tells the instant in milliseconds", sim{at: inMillis}, "At", atRule},
		{"takes the limiter's clock for its own", sim{wrongly: true}, "At", atRule},
		{"reads the time twice", sim{twice: true}, "At while time passes", atRule},
		{"charges as if nothing was used before", sim{answer: chargedOfNothing}, "Policy is run as it is", policyRule},
		{"drops the parts' results", sim{ask: dropParts}, "Policy is run as it is", policyRule},
		{"gives back the latest", sim{ask: latestBack}, "MemStore", likeRule},
		{"grants all or none, as it always did", sim{ask: allOrNone}, "MemStore", likeRule},

		{"forgets in half the time", sim{live: half}, "R6 forgotten in real time", r6},
		{"lives for a whole second or more", sim{live: atLeastASecond}, "R6 forgotten in real time", r6},
		{"lives for as long as at first", sim{liveOnce: true}, "R6 forgotten in real time", r6},
		{"lives by the asking policy alone", sim{liveBy: true}, "R6 forgotten in real time", r6},
		{"decides by the clock of the limiter", sim{theirs: true}, "Clocks of clients", atRule},
		{"takes its clock for the limiter's", sim{wrongly: true}, "Clocks of clients", atRule},
		{"reads the clock of the limiter", sim{readsNow: true}, "Clocks of clients", clockRule},
		{"answers by what it saw itself", sim{caches: true}, "Backend of two stores", backendRule},
		{"knows what its own process counted by", sim{carry: keepWords, knows: true}, "Backend of two stores", changeRule},
		{"reads and writes in two steps", sim{between: yields}, "Backend of two stores at once", backendRule},
		{"sends again what got no reply", sim{resends: true}, "Failures: lost replies", failureRule},
		{"sends again what gives back", sim{resends: true, resent: gives}, "Failures: lost replies", failureRule},
		{"sends again what books", sim{resends: true, resent: waits}, "Failures: lost replies", failureRule},
		{"sends again what is of a mode", sim{resends: true, resent: hasMode}, "Failures: lost replies", failureRule},
		{"waits for as long as it takes", sim{deaf: true}, "Failures: a hanging backend", failureRule},
		{"doesn't recover", sim{dies: true}, "Failures: a hanging backend", failureRule},
		{"fails now and then", sim{fails: 10}, "R5 Remaining is exact", errorsRule},
		{"fails now and then", sim{fails: 10}, "R10 many keys", errorsRule},
	} {
		t.Run(c.does+", "+c.failsCase, func(t *testing.T) {
			failure := runAlone(t, c.failsCase, impatient, func() weir.Store { s := c.store; return s.ready() })
			switch {
			case failure == "":
				t.Errorf("a store that %s passes %q", c.does, c.failsCase)
			case !strings.Contains(failure, c.names):
				t.Errorf("a store that %s fails %q with %q, which does not name %s", c.does, c.failsCase, failure, c.names)
			}
		})
	}
}

// The store that the broken ones are made of passes: so it is what they break that fails.
func TestUnbrokenStorePasses(t *testing.T) {
	t.Parallel() // beside tests that wait
	for _, c := range testCases() {
		if failure := runAlone(t, c.name, patience, func() weir.Store { return new(sim).ready() }); failure != "" {
			t.Errorf("%s: %s", c.name, failure)
		}
	}
}

// Nor is a store wrong where the process that asks it is slow: it is denied for good only if it
// asked after all periods had passed.
func TestSlowTesterIsPatient(t *testing.T) {
	if failure := runAlone(t, "R6 forgotten in real time", 1, func() weir.Store { return new(sim).ready() }); failure != "" {
		t.Error(failure)
	}
}

// No case is so empty that a store which never decides passes it.
func TestEveryCaseCanFail(t *testing.T) {
	for _, c := range testCases() {
		if runAlone(t, c.name, impatient, func() weir.Store { s := sim{fails: 1}; return s.ready() }) == "" {
			t.Errorf("a store that always fails passes %q", c.name)
		}
	}
}

// A caller whose context has ended is not held for as long as a client waits by default.
func TestStoresThatHoldCallersAreCaught(t *testing.T) {
	const timeout = 4 * time.Second
	for does, store := range map[string]sim{
		"waits until its client gives up":     {deaf: true, timeout: timeout},
		"asks for one at a time":              {deaf: true, timeout: timeout, inTurn: together},
		"waits in vain for others":            {inTurn: together},
		"waits in vain for others of the key": {inTurn: byKey},
	} {
		failure := runAlone(t, "Failures: a hanging backend", patience, func() weir.Store { s := store; return s.ready() })
		assert.Contains(t, failure, failureRule, "a store that %s", does)
	}
}
