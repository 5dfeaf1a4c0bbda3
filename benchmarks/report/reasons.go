package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-go/weir/benchmarks"
)

const (
	slidingLog  = "weir/SlidingLog"
	threeLimits = "weir/httplimit, three limits"
)

// reasons tell what weir does not do faster, with the figures of the run. Each stands there if its
// metrics were measured, and its text is not empty.
var reasons = []struct {
	metrics []string
	text    func(results) string
}{
	{[]string{"W2.ns", "W3.ns"}, func(r results) string {
		return fmt.Sprintf(`**A hot key with a SlidingLog** takes %s times as long as one with a
TokenBucket in W2, and %s times in W3. In these workloads, the state of the other policies is one
word. They grant by one exchange of that word, and deny without writing. A log has several words.
Each decision takes the lock of the key by one exchange, and returns it by another, also to deny.
The processors also take the cache lines of the log from each other. In the CPU profile, a third of
the time is taking the lock, and a sixth returning it. To deny without the lock, each key would need
another word, whatever its policy: 8 bytes in addition to 39.`, r.times("W2.ns"), r.times("W3.ns"))
	}},
	{[]string{"W4.ns", "W4p.ns", "W5.ns"}, func(r results) string {
		return fmt.Sprintf(`**A million keys with a SlidingLog** take %s times as long as with a
TokenBucket in W4, %s times in W4p, and %s times in W5. The slot of a key only says where the log
is. A decision therefore waits for memory twice: for the slot, and for the log. Each event adds a
word to its log. Logs that outgrow their place are copied to a larger one. In the CPU profile, a
quarter of the time is the first reading of the slot, and another quarter the growth.`,
			r.times("W4.ns"), r.times("W4p.ns"), r.times("W5.ns"))
	}},
	{[]string{"W4.ns"}, func(r results) string {
		return fmt.Sprintf(`**A million keys in a random order**: a TokenBucket takes %s ns a decision
in W4. Some 60 %% of that is the first reading of the key's slot (CPU profile). The slots take 39 MB.
No cache near the processor holds them, and neither does its cache of addresses (TLB). One such
reading is the least that a limiter can do. The best peer that keeps whole keys does about two, and
takes %s times as long.`,
			ns(r.median(benchmarks.Leader, "W4.ns")), significant(r.bestRatio("W4.ns")))
	}},
	{[]string{"W6.overMs"}, func(r results) string {
		return fmt.Sprintf(`**Calls over 1 ms** are %s of two million with a TokenBucket in W6, and %s with a SlidingLog. How
many there are depends on the machine. In three runs of each on another one, the clock of the thread
and its page faults were read for each call. 56 calls took over 1 ms. In 7 of them the thread was not
running. The other 49 had over 50 page faults each: they were the first to write to a large new
block of memory, for the table or for logs. The system provides such memory only at the first write.
That took some 10 µs for each fault.`,
			significant(r.median(benchmarks.Leader, "W6.overMs")), significant(r.median(slidingLog, "W6.overMs")))
	}},
	{[]string{"W8.p999"}, func(r results) string {
		return fmt.Sprintf(`**The 99.9th percentile of a SlidingLog** is %s ns in W8, and %s ns for a TokenBucket. In W8, logs
grow by a word with each call. One call in 170 is the first to write to a page of memory, which the
system then provides: in three runs of 667 ms, a process with a SlidingLog had 13,000 page faults more
than one with a TokenBucket, for 2.2 million calls. No peer keeps each event. A log that is full does
not grow any more.`,
			ns(r.median(slidingLog, "W8.p999")), ns(r.median(benchmarks.Leader, "W8.p999")))
	}},
	{[]string{"W8.p999"}, func(r results) string {
		best := r.bestRatio("W8.p999")
		if best > 1 && r.median(benchmarks.Leader, "W8.p999") < r.bestOfPeers("W8.p999") {
			return "" // it is faster
		}
		return fmt.Sprintf(`**The 99.9th percentile of a TokenBucket** is %s ns in W8, and %s ns with the best peer. Within a
round, the best peer's is %s times as high. In these calls both wait for memory: the slots of 100,000
keys take some 4 MB, which is more than the caches near a processor hold. The middle half of
the rounds is within ±%.0f %%.`,
			ns(r.median(benchmarks.Leader, "W8.p999")), ns(r.bestOfPeers("W8.p999")), significant(best), r.spread("W8.p999")*50)
	}},
	{[]string{benchmarks.MethodMetric("Allow"), benchmarks.MethodMetric("Take")}, func(r results) string {
		return fmt.Sprintf(`**Take** takes %s ns in M1, where Allow takes %s ns. Allow only returns
whether the event is granted. Take also returns what remains and two durations. It executes 515
instructions, and Allow 379 (`+"`go run ./benchmarks/counts`"+`). A third of the difference is the
arithmetic, with a division. The rest is the check of ctx, and the Result of eight words, which the
caller reads.`,
			r.method("Take"), r.method("Allow"))
	}},
	{[]string{benchmarks.MethodMetric("Allow"), benchmarks.MethodMetric("Reserve+Settle"), benchmarks.MethodMetric("Reserve+Cancel")}, func(r results) string {
		return fmt.Sprintf(`**Reserve and Settle** take %s ns in M1, and Reserve and Cancel take %s
ns. Allow takes %s ns. The Reservation is allocated: it must know the grant exactly, also after a
change of policy. Cancel also works on the queue of callers that wait for the key: meanwhile no
other call books events of the key, and the callers that wait behind the events given back move up.
x/time/rate has no such queue, and gives back less.`,
			r.method("Reserve+Settle"), r.method("Reserve+Cancel"), r.method("Allow"))
	}},
	{[]string{"H1.ns"}, func(r results) string {
		return fmt.Sprintf(`**Three limits on one request** take %s times as long as one in H1. Each limit makes a decision of its
own, with its own reading of the clock (24 ns) and its own part of the fields. The first two also
keep what they need to give their events back exactly, if a later one denies the request.`,
			significant(r.ratio(threeLimits, "H1.ns")))
	}},
	{[]string{"W7.bytes"}, func(r results) string {
		return fmt.Sprintf(`**A key takes** %s bytes in W7, and with a SlidingLog %s. This depends on the number of keys. The
table is made of parts. A full part is replaced by one or two that have room for more. This happens
to all parts at about the same number of keys. From half a million to three million keys, a key
takes 32 to 49 bytes, and with a SlidingLog 56 to 73. A part begins with 4 slots, so that a limiter
with few keys takes under 2 kB.`,
			significant(r.median(benchmarks.Leader, "W7.bytes")), significant(r.median(slidingLog, "W7.bytes")))
	}},
	{[]string{"W1.ns"}, func(r results) string {
		return fmt.Sprintf(`**One goroutine on one key** takes %s ns in W1. Of these, 24 ns are one reading of the clock
(`+"`time.Since`"+`), which no exact limiter can do without. 2 ns are the loop, and 2 ns the two
hashes of the key.`, ns(r.median(benchmarks.Leader, "W1.ns")))
	}},
}

// times is how many times as long as a TokenBucket a SlidingLog takes.
func (r results) times(metric string) string { return significant(r.ratio(slidingLog, metric)) }

// method is what a method of the leader takes in M1.
func (r results) method(name string) string {
	return ns(r.median(benchmarks.Leader, benchmarks.MethodMetric(name)))
}

// bestRatio is the least ratio to the leader of a peer that keeps whole keys, and denies.
func (r results) bestRatio(metric string) float64 {
	var ratios []float64
	for _, c := range r.contenders(metric) {
		if c.Peer() && c.Kind != benchmarks.Blocks && !c.Hashes {
			ratios = append(ratios, r.ratio(c.Name, metric))
		}
	}
	return slices.Min(append(ratios, 1e9))
}

// lacks reports whether a metric that reasons tell was not measured.
func (r results) lacks(metric string) bool {
	of := slidingLog
	if leader(metric) == benchmarks.MiddlewareLeader {
		of = threeLimits
	}
	return len(r.series(of, metric)) == 0 || len(r.series(leader(metric), metric)) == 0
}

// reasonsSection is empty if there is none to tell.
func reasonsSection(r results) string {
	var b strings.Builder
	for _, reason := range reasons {
		if slices.ContainsFunc(reason.metrics, r.lacks) {
			continue
		}
		if text := reason.text(r); text != "" {
			b.WriteString(item(text))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "## What is not faster, and why\n\n" + b.String()
}

// item is text as an item of a list, in lines of at most 100 columns.
func item(text string) string {
	var b strings.Builder
	line := "-"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
