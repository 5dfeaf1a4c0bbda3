package httplimit

import (
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/weir-go/weir"
)

// charging are the requests that are being served and that the checks look at, with the Limiters
// that have counted them. There is one map for the process, because an outer Middleware does not
// know the inner one. A context could carry the Limiters. But a request with a new context is a
// copy, and outer handlers would not see what inner handlers note in the copy.
var charging sync.Map // from charge to nil

// A charge identifies a request by its header, which copies of the request share.
type charge struct {
	header  unsafe.Pointer
	limiter weir.Limiter // a pointer, such as a *weir.KeyedLimiter or one that counts its decisions
}

// enter notes that the limits have counted a request, and warns if one of the Limiters has counted
// it before. It returns a function that forgets the request.
func (w *wiring) enter(r *http.Request, all []asked) (leave func()) {
	header := reflect.ValueOf(r.Header).UnsafePointer()
	var entered []charge
	for i := range all {
		l := all[i].Limiter
		if t := reflect.TypeOf(l); header == nil || t.Kind() != reflect.Pointer || t.Elem().Size() == 0 {
			continue // without a state, or one that is not known to be the same
		}
		c := charge{header, l}
		if _, before := charging.LoadOrStore(c, nil); !before {
			entered = append(entered, c)
		} else if !slices.Contains(entered, c) { // two Limits of one Middleware may have one Limiter
			w.tell(CheckChargedTwice, "two Middlewares charge one Limiter for a request: give each its own Limiter, or remove one")
		}
	}
	return func() {
		for _, c := range entered {
			charging.Delete(c)
		}
	}
}

// uses counts the Middlewares that are garbage, by the requests that each has seen. One that is
// made in a handler sees one request.
var uses struct {
	once, more atomic.Int32
	told       atomic.Bool
}

// manyUses is the number of Middlewares after which the counts begin anew.
const manyUses = 1000

// countUses counts the uses of l when it is garbage. It warns if nine in ten of the Middlewares
// counted before had one use. A Middleware that leaves the check out is not counted, and does not
// take the warning from others.
func (w *wiring) countUses(l *limited) {
	if w.told[slices.Index(checks, CheckLimiterPerRequest)].Load() {
		return
	}
	if once, more := uses.once.Load(), uses.more.Load(); once+more >= manyUses {
		uses.once.Store(0)
		uses.more.Store(0)
		if more < once/9 && !uses.told.Swap(true) {
			w.tell(CheckLimiterPerRequest, "%d of %d Middlewares were used for one request and then dropped: "+
				"make each once, when the program starts, and use Wrapper for a router that calls Wrap for each request", once, once+more)
		}
	}
	runtime.AddCleanup(l, func(seen *atomic.Int32) {
		switch n := seen.Load(); {
		case n == 1:
			uses.once.Add(1)
		case n > 1:
			uses.more.Add(1)
		}
	}, w.seen)
}
