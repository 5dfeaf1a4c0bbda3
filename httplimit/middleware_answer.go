package httplimit

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// seconds returns d in whole seconds, rounded up. A client that waits for that long has waited for
// d.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// effectiveWindow returns the time that all fields of an answer report. For a denied request it is
// the time until the request would be granted. For a granted request it is the time until more
// events remain, or 0 if all of them remain. If there is no such time, or if it is not known, it is
// the time until all events remain.
func effectiveWindow(res *weir.Result) time.Duration {
	switch {
	case !res.Allowed && res.RetryAfter != weir.Never:
		return max(res.RetryAfter, 1)
	case res.Allowed && res.MoreAfter > 0:
		return res.MoreAfter
	case res.Allowed && res.Remaining >= res.Limit:
		return 0
	}
	return max(res.ResetAfter, 0)
}

// stateFields are the fields with the state of a limit. A denial removes those that outer limits
// have written when they granted the request: they would contradict it.
var stateFields = [...]string{
	rateLimitField,
	"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
}

// answers are the functions that answer the requests that do not pass. One that is nil stands for
// the default answer.
type answers struct {
	denied func(http.ResponseWriter, *http.Request, Decision)
	failed func(http.ResponseWriter, *http.Request, error)
}

var _ edge.Answering = (*handler)(nil)

// AnsweringBy implements [edge.Answering].
func (h *handler) AnsweringBy(
	denied func(http.ResponseWriter, *http.Request, weir.Result), failed func(http.ResponseWriter, *http.Request, error),
) http.Handler {
	by := &answers{func(w http.ResponseWriter, r *http.Request, d Decision) { denied(w, r, d.Result) }, failed}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, by) })
}

func (l *limited) deny(w http.ResponseWriter, r *http.Request, all []asked, decisive int, by *answers) {
	h, res := w.Header(), &all[decisive].d.Result
	values := []string{"no-store", ""} // one allocation for both values
	h["Cache-Control"] = values[0:1:1]
	if res.RetryAfter != weir.Never {
		values[1] = strconv.FormatInt(seconds(effectiveWindow(res)), 10)
		h["Retry-After"] = values[1:2:2]
	}
	for _, name := range stateFields {
		delete(h, name)
	}
	l.fields.set(h, all, decisive, l.inHandler)
	if by.denied != nil {
		by.denied(w, r, all[decisive].d)
		return
	}
	pages := all[decisive].member().pages()
	if several := deniedBy(all); len(several) > 1 {
		pages = newDenialPages(several...)
	}
	if res.RetryAfter == weir.Never {
		pages.tooLarge.write(w, r)
		return
	}
	pages.tooMany.write(w, r)
}

// member returns the limit that denies, or the component of its policy that does.
func (a *asked) member() *member {
	if a.listsParts() {
		return a.about.parts[a.d.Result.DecidedBy]
	}
	return &a.about.whole
}

// deniedBy returns the names of the limits that deny the request, if there are several.
func deniedBy(all []asked) (names []string) {
	for i := range all {
		if len(all) > 1 && !all[i].d.Result.Allowed {
			names = append(names, all[i].member().shown)
		}
	}
	return names
}

func (by *answers) fail(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case by.failed != nil:
		by.failed(w, r, err)
	case errors.Is(err, ErrNoKey):
		noKey.write(w, r)
	default:
		unavailable.write(w, r)
	}
}

// A page is an answer that is the same for every request, in JSON (RFC 9457) and in plain text. It
// contains nothing that came from a client or from an error.
type page struct {
	status     int
	json, text []byte
}

// quotaExceeded is the problem type of draft-ietf-httpapi-ratelimit-headers-11, section 5.1.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

func newPage(status int, problemType, title, detail string, violated []string) page {
	body, _ := json.Marshal(struct {
		Type     string   `json:"type,omitempty"`
		Title    string   `json:"title"`
		Status   int      `json:"status"`
		Detail   string   `json:"detail"`
		Violated []string `json:"violated-policies,omitempty"`
	}{problemType, title, status, detail, violated}) // cannot fail: strings and ints only
	return page{status, append(body, '\n'), []byte(title + ": " + detail + "\n")}
}

var (
	noKey = newPage(http.StatusBadRequest, "", "Bad Request",
		"the request does not tell whose it is", nil)
	unavailable = newPage(http.StatusServiceUnavailable, "", "Service Unavailable",
		"the request could not be checked, try again later", nil)
)

// denialPages are the answers to requests that are denied.
type denialPages struct {
	tooMany, tooLarge page
}

// newDenialPages returns the answers for a denial by the limits of the names. An empty name is left
// out.
func newDenialPages(names ...string) *denialPages {
	if names[0] == "" {
		names = nil
	}
	return &denialPages{
		tooMany: newPage(http.StatusTooManyRequests, quotaExceeded, "Quota Exceeded",
			"too many requests, try again after the time in Retry-After", names),
		tooLarge: newPage(http.StatusTooManyRequests, quotaExceeded, "Quota Exceeded",
			"the request counts for more than is ever granted at once", names),
	}
}

func (p *page) write(w http.ResponseWriter, r *http.Request) {
	mediaType, body := "text/plain; charset=utf-8", p.text
	if prefersJSON(r.Header["Accept"]) {
		mediaType, body = "application/problem+json", p.json
	}
	h, values := w.Header(), []string{mediaType, "nosniff"}
	delete(h, "Content-Length") // that of the answer which the handler of a Checker had in mind
	h["Content-Type"] = values[0:1:1]
	h["X-Content-Type-Options"] = values[1:2:2]
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client has gone
	}
}

// prefersJSON reports whether the Accept fields allow JSON and do not prefer text. Browsers name
// text/html, and get plain text.
func prefersJSON(accept []string) bool {
	if len(accept) == 0 {
		return true
	}
	var json, text preference
	for _, line := range accept {
		for element := range strings.SplitSeq(line, ",") {
			mediaRange, params, _ := strings.Cut(element, ";")
			q := weight(params)
			switch strings.ToLower(strings.TrimSpace(mediaRange)) {
			case "application/problem+json", "application/json":
				json.consider(3, q)
			case "text/plain", "text/html":
				text.consider(3, q)
			case "application/*":
				json.consider(2, q)
			case "text/*":
				text.consider(2, q)
			case "*/*":
				json.consider(1, q)
				text.consider(1, q)
			}
		}
	}
	return json.q > 0 && json.q >= text.q
}

// A preference is the weight of the most specific media range that matched.
type preference struct {
	specific int
	q        float64
}

func (p *preference) consider(specific int, q float64) {
	if specific > p.specific || specific == p.specific && q > p.q {
		*p = preference{specific, q}
	}
}

// weight returns the q of the parameters of a media range. It returns 1 if there is none, and 0 if
// it is malformed.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || !(q >= 0 && q <= 1) { // written like this to refuse NaN
				return 0
			}
			return q
		}
	}
	return 1
}
