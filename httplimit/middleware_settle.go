package httplimit

import "net/http"

// serveAndSettle passes the request on, and then charges what Settle returns. It does so also if the
// handler panics.
func (l *limited) serveAndSettle(w http.ResponseWriter, r *http.Request, all []asked) {
	answer := &answerWriter{ResponseWriter: w}
	panics := true
	defer func() { l.settle(r, all, answer, panics) }()
	l.next.ServeHTTP(answer.as(), r)
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
	for i := range all {
		if a := &all[i]; a.Settle != nil {
			l.settled(r, a, a.booked.Settle(r.Context(), a.Settle(r, status, answer.bytes)))
		}
	}
}
