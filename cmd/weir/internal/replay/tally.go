package replay

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A tally counts what a policy refuses.
type tally struct {
	slots   []uint32 // for each client its place in hits and one, or 0
	hits    []hit
	refused int
	early   int
}

// A hit is a client that was refused at least once.
type hit struct {
	client  uint32
	open    bool  // the last request was refused
	refused int   // requests
	since   int64 // the first refused request after one that was granted
	last    int64 // refused request
	retry   int64 // RetryAfter of that, or 0 if it is Never
	longest int64 // that it was shut out: from since until last and retry
}

func (t *tally) count(e event, now int64, r weir.Result) {
	for int(e.client) >= len(t.slots) {
		t.slots = append(t.slots, 0)
	}
	slot := t.slots[e.client]
	if r.Allowed {
		if slot != 0 {
			t.hits[slot-1].open = false
		}
		return
	}
	if slot == 0 {
		t.hits = append(t.hits, hit{client: e.client})
		slot = uint32(len(t.hits))
		t.slots[e.client] = slot
	}
	h := &t.hits[slot-1]
	if now-h.last < h.retry { // also if a request that costs less was granted since
		t.early++
	}
	if !h.open {
		h.open, h.since = true, now
	}
	h.refused++
	t.refused++
	h.last, h.retry = now, int64(r.RetryAfter)
	if r.RetryAfter == weir.Never { // then there is no Retry-After
		h.retry = 0
	}
	h.longest = max(h.longest, int64(min(uint64(now-h.since)+uint64(h.retry), math.MaxInt64)))
}

// worst is how many clients and networks are listed, at most.
const worst = 10

func (t *tally) verdict(policy string, c *clients) Verdict {
	v := Verdict{Policy: policy, Refused: t.refused, Hit: len(t.hits), Early: t.early, Worst: []Client{}}
	hits := slices.Clone(t.hits)
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.refused, a.refused), cmp.Compare(a.client, b.client))
	})
	for i, h := range hits {
		v.LongestShutOut = max(v.LongestShutOut, time.Duration(h.longest))
		if i < worst {
			v.Worst = append(v.Worst, Client{c.keys[h.client], c.counts[h.client], h.refused, time.Duration(h.longest)})
		}
	}
	v.Networks = networks(hits, c)
	return v
}

func networks(hits []hit, c *clients) []Network {
	byPrefix := map[netip.Prefix]*Network{}
	for _, h := range hits {
		prefix, ok := network(c.keys[h.client])
		if !ok {
			continue
		}
		n := byPrefix[prefix]
		if n == nil {
			n = &Network{Prefix: prefix.String()}
			byPrefix[prefix] = n
		}
		n.Clients++
		n.Refused += h.refused
	}
	all := []Network{} // nil would be null in JSON
	for _, n := range byPrefix {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b Network) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Prefix, b.Prefix))
	})
	return all[:min(len(all), worst)]
}
