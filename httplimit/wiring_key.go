package httplimit

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/edge"
)

// seenKeys is what the checks know of the keys of a limit.
type seenKeys struct {
	requests  atomic.Int32  // requests with a key
	without   atomic.Int32  // requests without one
	same      uniform       // whether all requests have one key
	clients   atomic.Uint64 // a bit for each of the clients, by their hash
	addresses seenAddresses
}

// A uniform tells whether all texts that it has seen are the same.
type uniform struct {
	first  atomic.Pointer[string]
	differ atomic.Bool
}

// see notes a text, and reports whether all were the same so far.
func (u *uniform) see(text string) bool {
	first := u.first.Load()
	if first == nil {
		kept := strings.Clone(text) // fasthttp uses the memory of a request again
		u.first.CompareAndSwap(nil, &kept)
		first = u.first.Load() // perhaps that of another
	}
	if *first != text {
		u.differ.Store(true)
	}
	return !u.differ.Load()
}

// forwardingFields are the fields in which proxies name their client.
var forwardingFields = [...]string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// clientSeed is the seed of the hashes of clients.
var clientSeed = maphash.MakeSeed()

// lookAtKey looks at the key of a request.
func (w *wiring) lookAtKey(r *http.Request, a *asked) {
	s, key := &a.keys, a.d.Key
	n := s.requests.Add(1)
	client, forwarded := clientOf(r)
	w.lookAtAddress(r, &s.addresses, key, client, forwarded)
	s.clients.Or(client)
	if oneKey := s.same.see(key); n != sameKeys || !oneKey || s.addresses.explained.Load() {
		return
	}
	if bits.OnesCount64(s.clients.Load()) < 16 || a.Key == nil || w.isShared(r, key) {
		return
	}
	if address, ok := s.addresses.only(); ok { // whose first requests came from fewer clients
		w.tellProxyKey(n, address)
		return
	}
	w.tell(CheckOneKey, "the first %d requests seem to come from many clients, and all have one key: "+
		"use Everyone as the Key of a limit that all clients share", n)
}

// clientOf returns a bit for the client of a request. It reports whether the request has a field of
// proxies.
func clientOf(r *http.Request) (bit uint64, forwarded bool) {
	var client maphash.Hash
	client.SetSeed(clientSeed)
	for _, name := range forwardingFields {
		for _, value := range r.Header[name] {
			forwarded = true
			_, _ = client.WriteString(value)
		}
		_ = client.WriteByte(0)
	}
	_, _ = client.WriteString(r.Header.Get("User-Agent"))
	if peer, ok := parseHop(r.RemoteAddr); ok {
		_, _ = client.WriteString(peer.addr.String())
	}
	return 1 << (client.Sum64() % 64), forwarded
}

// sameKeys is the number of requests that must have one key: of those that the checks look at, a few
// may have none.
const sameKeys = looksAt * 9 / 10

// finding are the requests whose keys are being found, and that the checks look at. A KeyFunc sees
// what a Middleware cannot see. It gets the request alone, which must stay as it is.
var finding sync.Map // from *http.Request to *search

// A search is one for the keys of a request.
type search struct {
	*wiring
	addresses *seenAddresses // of the limit whose key is being found
}

// find sets a to the limit with its key and cost, and lets the checks look at what the KeyFuncs see.
func (w *wiring) find(a *asked, r *http.Request, lm *limit) bool {
	finding.Store(r, &search{w, &lm.keys.addresses})
	defer finding.Delete(r)
	return a.find(r, lm)
}

// lookAtHidden looks at a key of which the limit gets a hash.
func lookAtHidden(r *http.Request, key, hash string) {
	if found, ok := finding.Load(r); ok {
		s := found.(*search)
		client, forwarded := clientOf(r)
		s.lookAtAddress(r, s.addresses, key, client, forwarded)
		if s.isShared(r, key) {
			s.hidden.Store(hash, nil)
		}
	}
}

// lookAtHops looks at a request whose field of proxies has fewer addresses than the proxies that it
// must come through.
func lookAtHops(r *http.Request, field string, hops int) {
	if s, ok := finding.Load(r); ok && s.(*search).addresses.fewHops.Add(1) == 10 {
		s.(*search).tell(CheckHops, "ten requests have fewer addresses in %s than Hops, which is %d: Hops is too large, "+
			"or they have bypassed a proxy, and clients can choose their key", field, hops)
	}
}

// lookAtNoKey looks at the error of a request that has no key. Clients may have chosen its bytes.
func (w *wiring) lookAtNoKey(s *seenKeys, err error) {
	switch {
	case !errors.Is(err, ErrNoKey):
		w.tell(CheckKey, "Key fails, and requests are refused: %.500q", err.Error())
	case s.without.Add(1) == 100 && s.requests.Load() == 0:
		w.tell(CheckKey, "none of the first 100 requests has a key, and all are refused: %.500q: "+
			"put the limit behind the handler that sets the key", err.Error())
	}
}

// isShared reports whether all clients are meant to have the key. Such a key is that of Everyone,
// or it says what is requested and not who requests it, such as the route. It is not for the keys
// of a Checker, which a handler has chosen.
func (w *wiring) isShared(r *http.Request, key string) bool {
	key = unmarked(key)
	if parts, ok := edge.Split(key); ok {
		return !slices.ContainsFunc(parts, func(part string) bool { return !w.isShared(r, part) })
	}
	for _, find := range [...]KeyFunc{Everyone, Pattern, Method, Path} {
		if shared, err := find(r); err == nil && key == shared {
			return true
		}
	}
	_, hidden := w.hidden.Load(key)
	return hidden || key == r.Method+" "+r.Pattern // Route of ginlimit, also of a request without a route
}

// unmarked returns a key without the marks of [Or].
func unmarked(key string) string {
	for strings.HasPrefix(key, "\x00") {
		_, key, _ = strings.Cut(key, ":")
	}
	return key
}
