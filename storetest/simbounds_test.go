package storetest

import (
	"time"

	"github.com/weir-go/weir"
)

// A simDenial is a denial of n events or more.
type simDenial struct {
	n     int
	until int64
}

// A simAhead is events that are held at an instant.
type simAhead struct {
	n  int
	at int64
}

// alone decides by what s holds for itself. It requires that s.mu is held.
func (s *sim) alone(id string, r weir.Request, now int64) (weir.Answer, bool) {
	if r.N <= 0 || r.Mode != weir.AllOrNone || r.MaxWait != 0 {
		return weir.Answer{}, false
	}
	if h := s.ahead[id]; h.n >= r.N && h.at == now {
		s.ahead[id] = simAhead{h.n - r.N, now}
		return weir.Answer{Result: weir.Result{Allowed: true}, At: r.Now()}, true
	}
	d, ok := s.denied[id]
	if !ok || r.N < d.n || now >= d.until {
		return weir.Answer{}, false
	}
	if s.renews {
		s.denied[id] = simDenial{r.N, now + int64(s.denies)}
	}
	return weir.Answer{Result: weir.Result{RetryAfter: time.Duration(d.until - now)}, At: r.Now()}, true
}
