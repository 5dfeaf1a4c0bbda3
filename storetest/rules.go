package storetest

import "github.com/weir-go/weir"

// The rules as failures name them. The doc of the package lists them in full.
const (
	r1             = "R1 (all or nothing)"
	r2             = "R2 (a denial consumes nothing and extends nothing)"
	r3             = "R3 (n = 0 looks, an n that never fits is denied with Never)"
	r4             = "R4 (RetryAfter is tight, and zero exactly if allowed)"
	r5             = "R5 (Remaining = k: an ask for k would be granted now, and one for k+1 would not)"
	r6             = "R6 (forgetting is never observable)"
	r7             = "R7 (time never runs backwards for a key)"
	r8             = "R8 (nothing drifts)"
	r9             = "R9 (nothing wraps around)"
	r10            = "R10 (concurrent steps on a key come one after another)"
	r11            = "R11 (two keys, or two names, never share a state)"
	sharingRule    = "Sharing (limiters of one name and policy are as one)"
	changeRule     = "Change (a changed policy is no fresh allowance)"
	policyRule     = "Policy (any policy is run as it is, on the state that it left)"
	upToRule       = "UpTo (as many are granted as there are)"
	regardlessRule = "Regardless (what happened already is charged, even into debt)"
	givingBackRule = "GivingBack (of what was granted at an instant, what still counts)"
	forgettingRule = "Forgetting (a key that is forgotten is as new, and no other is)"
	partsRule      = "Parts (a composed policy tells the results of its parts)"
	atRule         = "At (the answer tells the instant of the decision, and by whose clock)"
	bookingRule    = "Booking (events can be booked ahead and given back)"
	errorsRule     = "Errors (an error means that there is no decision, and counts nothing)"
	likeRule       = "MemStore (a limiter answers as one in memory)"
	backendRule    = "Backend (two stores on it are as one)"
	clockRule      = "Clocks (a store with a clock of its own decides by it alone)"
	failureRule    = "Failures (no request counts twice, or is held when its context has ended)"
	expiryRule     = "Expiry (a server keeps a state for as long as it matters)"
	overRule       = "Bounds (never over, in any window or span)"
	earlyRule      = "Bounds (a denial is early by at most what is declared)"
	idleRule       = "Bounds (nothing is lost while a key is idle)"
)

// R1: n events are granted together or not at all. With one event left, an ask for two is denied,
// and the one is still left.
func allOrNothing(e *env) {
	e.each(shapes(5, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		queue := isQueue(p) // a queue has room for all or for none
		for granted := 0; ; granted += 2 {
			before := e.take(l, "k", 0)
			r := e.take(l, "k", 2)
			switch after := e.take(l, "k", 0); {
			case !r.Allowed && !e.same(before, after):
				e.Fatalf("%s: 2 were denied with %d left, which changed %+v to %+v", r1, before.Remaining, before, after)
			case !r.Allowed && !queue && granted != 4:
				e.Fatalf("%s: %d of 5 were granted in pairs, want 4", r1, granted)
			case !r.Allowed && !queue && !e.take(l, "k", 1).Allowed:
				e.Fatalf("%s: 2 were denied with 1 left, and then so was 1", r1)
			case !r.Allowed:
				return
			case granted > 5:
				e.Fatalf("%s: 6 were granted of 5", r1)
			case !queue && before.Remaining-after.Remaining != 2:
				e.Fatalf("%s: 2 were granted, and Remaining went from %d to %d", r1, before.Remaining, after.Remaining)
			}
		}
	})
}

// R2: a key that denies many requests grants the first one at the instant that its first denial
// reported.
func denialsConsumeNothing(e *env) {
	const limit, hammering = 10, 300
	e.each(shapes(limit, 10*limit*hammering*e.tick), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		_, denial := e.exhaust(l, "k", limit)
		opens := e.clock.Now().Add(e.up(denial.RetryAfter))
		step := max(denial.RetryAfter/hammering, e.tick)
		for i := 0; e.clock.Now().Add(step).Before(opens); i++ {
			if r := e.take(l, "k", 1+i%(limit+1)); r.Allowed {
				e.Fatalf("%s: granted %v before the RetryAfter of a denial: %+v", r4, opens.Sub(e.clock.Now()), r)
			}
			e.advance(step)
		}
		e.set(opens)
		if r := e.take(l, "k", 1); !r.Allowed {
			e.Fatalf("%s: hammering kept the key shut, denied at the RetryAfter %v of the first denial: %+v",
				r2, denial.RetryAfter, r)
		}
	})
}

// R3: n = 0 is always allowed and counts nothing. An n that never fits is denied with Never, and
// changes nothing.
func looksAndTooMuch(e *env) {
	const limit = 10
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		for _, state := range []string{"new", "used", "exhausted"} {
			switch state {
			case "used":
				e.take(l, "k", 3)
			case "exhausted":
				e.exhaust(l, "k", limit)
			}
			before := e.take(l, "k", 0)
			for range 50 {
				if r := e.take(l, "k", 0); !e.same(r, before) {
					e.Fatalf("%s: looks at a key that is %s changed it from %+v to %+v", r3, state, before, r)
				}
			}
			if r := e.take(l, "k", before.Limit+1); r.Allowed || r.RetryAfter != weir.Never {
				e.Fatalf("%s: %d events, one more than ever fits: %+v", r3, before.Limit+1, r)
			}
			if r := e.take(l, "k", 0); !e.same(r, before) {
				e.Fatalf("%s: an ask that never fits changed a key that is %s from %+v to %+v", r3, state, before, r)
			}
		}
	})
}

// R4: the same request is denied one tick before RetryAfter has passed, and granted when it has.
func retryAfterIsTight(e *env) {
	const limit = 10
	e.each(shapes(limit, 12345*limit*e.tick), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		for _, n := range []int{1, 2, limit / 2, limit} {
			key := string(rune('a' + n))
			e.exhaust(l, key, limit)
			wait := e.up(e.take(l, key, n).RetryAfter)
			e.advance(wait - e.tick)
			if r := e.take(l, key, n); r.Allowed || e.up(r.RetryAfter) != e.tick {
				e.Fatalf("%s: %d events, one tick before the RetryAfter of %v: %+v", r4, n, wait, r)
			}
			e.advance(e.tick)
			if r := e.take(l, key, n); !r.Allowed {
				e.Fatalf("%s: %d events, denied after the RetryAfter of %v: %+v", r4, n, wait, r)
			}
		}
	})
}

// R5: of Remaining + 1 events, all are denied; of Remaining events, all are granted.
func remainingIsExact(e *env) {
	const limit = 10
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		for used := range limit + 1 {
			key := string(rune('a' + used))
			for range used {
				e.take(l, key, 1)
			}
			left := e.take(l, key, 0).Remaining
			if r := e.take(l, key, left+1); r.Allowed {
				e.Fatalf("%s: %d were granted where Remaining was %d", r5, left+1, left)
			}
			if r := e.take(l, key, left); !r.Allowed {
				e.Fatalf("%s: %d were denied where Remaining was %d: %+v", r5, left, left, r)
			}
		}
	})
}
