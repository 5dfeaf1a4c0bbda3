package httplimit

import "net/http"

// serveAndSettle passes the request on, and then charges what Settle returns, also if the handler
// panics.
func (h *handler) serveAndSettle(w http.ResponseWriter, r *http.Request, all []asked) {
	answer := &answerWriter{ResponseWriter: w}
	panics := true
	defer func() { h.settle(r, all, answer, panics) }()
	h.next.ServeHTTP(answer.as(), r)
	panics = false
}

func (l *limited) settle(r *http.Request, all []asked, answer *answerWriter, panics bool) {
	status := answer.status
	switch {
	case status != 0:
	case panics:
		status = http.StatusInternalServerError
	default: // net/http sends it
		status = http.StatusOK
	}
	l.charge(r, all, status, answer.bytes)
}

// charge charges each limit what its Settle returns, also after one that panics.
func (l *limited) charge(r *http.Request, all []asked, status int, bytes int64) {
	if len(all) == 0 {
		return
	}
	defer l.charge(r, all[1:], status, bytes)
	if a := &all[0]; a.Settle != nil {
		l.settled(r, a, a.booked.Settle(r.Context(), a.Settle(r, status, bytes)))
	}
}
