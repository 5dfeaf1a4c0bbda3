package script

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A held is the content of a value. If a script cannot continue from it, the value is its kind,
// latest and ahead, the number of policies if it is a ledger, each policy, and the words.
type held struct {
	ledger weir.Ledger
	plans  []*plan // the plans of its policies; a rule's tag is the index here plus one
	latest int64   // when it was written, by its own clock, in microseconds
	ahead  int64   // how far that clock is ahead of the server's
}

// rule returns the rule by which p decides on the held state.
func (h *held) rule(p *plan) weir.Rule {
	i := slices.Index(h.plans, p)
	if i < 0 {
		i = len(h.plans)
		h.plans = append(h.plans, p)
	}
	return weir.Rule{Policy: p.policy, Decider: p.decider, Tag: uint64(i + 1)}
}

// value returns the value to keep: in the form of the script if that can continue from it, or in
// words.
func (h *held) value(now int64) string {
	l := h.ledger
	b := []byte{kindLedger}
	if l.Plain {
		b[0] = kindWords
		if p := h.plans[l.By[0].Tag-1]; p.codec != nil && h.ahead == 0 {
			if v, ok := p.codec.encode(l.Words, h.latest); ok {
				return p.head + string(v)
			}
		}
	}
	b = appendUint(appendUint(b, uint64(h.latest), 7), uint64(h.ahead), 7)
	if !l.Plain {
		b = binary.AppendUvarint(b, uint64(len(l.By)))
	}
	for _, by := range l.By {
		b = h.appendPolicy(b, by, now)
	}
	return string(appendWords(b, l.Words))
}

// appendPolicy appends a policy. For processes that can't know the policy, it also appends the
// share that the policy has used, and for how many seconds that counts at most.
func (h *held) appendPolicy(b []byte, by weir.Rule, now int64) []byte {
	p, at := h.plans[by.Tag-1], len(b)
	b = append(b, p.head...)
	if !hasUsed(p.head) {
		return b
	}
	u, ok := p.decider.(*unknown)
	if ok {
		b[at] |= strange
	} else {
		used, limit := h.ledger.Usage(by, now)
		u = newUnknown(limit, limit-min(used, limit), h.ledger.Expiry())
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(u.Limit)), uint64(u.Remaining))
	return binary.AppendUvarint(b, uint64(max(u.until-now, 0)/int64(time.Second))+1)
}

// load parses a value that own found. The value may be any. Its words are checked when they are
// decided on.
func (e *Engine) load(own *plan, value string) (h held, err error) {
	if value == "" {
		return h, nil
	}
	r, n := read(value), uint64(1)
	inWords := value[0] == kindWords || value[0] == kindLedger
	if inWords {
		r.take(1)
		h.latest, h.ahead = r.micros(), r.micros()
	}
	if value[0] == kindLedger {
		n = r.varint()
	}
	h.ledger.Plain = value[0] != kindLedger
	var p *plan
	for ; n > 0; n-- {
		if p, err = e.takePolicy(&r, own, h.latest); err != nil {
			return held{}, err
		}
		h.ledger.By = append(h.ledger.By, h.rule(p))
	}
	switch {
	case inWords:
		h.ledger.Words = r.words()
	case p.codec == nil:
		r.ok = false
	default:
		h.ledger.Words, h.latest, r.ok = p.codec.decode(nil, r)
	}
	if !r.ok {
		return held{}, errValue
	}
	return h, nil
}

// takePolicy reads a policy of appendPolicy, from a value written at the instant latest.
func (e *Engine) takePolicy(r *reader, own *plan, latest int64) (p *plan, err error) {
	head, isStrange := r.head()
	switch {
	case !r.ok || isStrange && !hasUsed(head):
		return nil, errValue
	case head == own.head:
		p = own
	default:
		if p, err = e.planBy(head); err != nil {
			return nil, err
		}
	}
	if hasUsed(head) {
		u := newUnknown(r.varint(), r.varint(), math.MaxInt64)
		if seconds := r.varint(); seconds < uint64(math.MaxInt64-latest*micro)/uint64(time.Second) {
			u.until = latest*micro + int64(seconds)*int64(time.Second)
		}
		if p == nil || isStrange {
			p = &plan{decider: u, head: head}
		}
	}
	return p, nil
}

var errValue = fmt.Errorf("%w: the value of the key is not one of a limiter", weir.ErrRequest)

// An unknown is the decider of a policy that this process can't know: of another package, of a
// later release, or in a time zone that is not known here. It reports the used share, and until
// when it counts.
type unknown struct {
	weir.Result
	until int64
}

func newUnknown(limit, remaining uint64, until int64) *unknown {
	u := &unknown{until: until}
	u.Limit = int(min(limit, math.MaxInt))
	u.Remaining = int(min(remaining, uint64(u.Limit)))
	return u
}

func (u *unknown) Words() int { return 0 }

func (u *unknown) Decide(state []uint64, _ int64, _ weir.Ask) ([]uint64, weir.Answer) {
	return state, weir.Answer{Result: u.Result}
}

func (u *unknown) Expiry([]uint64) int64 { return u.until }
