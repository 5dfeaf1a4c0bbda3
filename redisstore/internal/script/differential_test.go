package script

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// transitions is how many random steps the policies of each type make together that are compared.
const transitions = 200_000

var differential = []weir.Policy{
	weir.TokenBucket{Limit: 10, Per: time.Second},
	weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 20},
	weir.TokenBucket{Limit: 300_000, Per: time.Second},
	weir.TokenBucket{Limit: 3, Per: 24*time.Hour + 1, Burst: 5},
	weir.LeakyBucket{Limit: 10, Per: time.Second},
	weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 3},
	weir.FixedWindow{Limit: 10, Per: time.Second},
	weir.FixedWindow{Limit: 1000, Per: time.Millisecond},
	weir.FixedWindow{Limit: 10, Per: time.Second + 1, FromFirst: true},
	weir.SlidingWindow{Limit: 10, Per: time.Second},
	weir.SlidingWindow{Limit: 1_000_000, Per: time.Hour},
	weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 5},
	weir.SlidingWindow{Limit: 300, Per: time.Minute, Buckets: 60},
	weir.SlidingWindow{Limit: 1_000_000, Per: 24 * time.Hour},
	weir.SlidingWindow{Limit: 1 << 30, Per: 365 * 24 * time.Hour, Buckets: 2},
	weir.SlidingWindow{Limit: 1 << 30, Per: 70 * 365 * 24 * time.Hour},
	weir.SlidingLog{Limit: 10, Per: time.Second},
	weir.SlidingLog{Limit: 1000, Per: time.Hour},
	weir.SlidingLog{Limit: 3, Per: 1500},
}

// Every policy's script answers as its Decider does, at a resolution of a microsecond, for any
// request, and also when the clock steps back.
func TestScriptsAnswerAsDecidersDo(t *testing.T) {
	client := newClient(t)
	ofType := map[string]int{}
	for _, p := range differential {
		ofType[fmt.Sprintf("%T", p)]++
	}
	for i, p := range differential {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			d := newDrive(t, client, p, uint64(i))
			steps := runs.Long(transitions/ofType[fmt.Sprintf("%T", p)], 2500)
			for d.compared < steps {
				if d.round(500); d.beyond > steps {
					t.Fatal("too few are for the script")
				}
			}
			t.Logf("%d steps compared: %d granted, %d denied, %d given back; %d beyond the script",
				d.compared, d.granted, d.denied, d.back, d.beyond)
			if d.granted < steps/20 || d.denied < steps/50 || d.back < steps/50 || d.beyond > steps/5 {
				t.Error("too few of a kind to tell anything")
			}
		})
	}
}

// A drive makes random steps on a few keys, by the decider, and then by the script.
type drive struct {
	*testing.T
	client *redis.Client
	random *rand.Rand
	policy weir.Policy
	plan   *plan
	states [4][]uint64
	grants [4][]grant
	keys   [4]string
	now    int64    // in microseconds
	asNew  [4]int64 // an instant at which the key was as new; what it was before may be forgotten or not
	before weir.Ask // a give-back before two waiters who have booked; for buckets

	granted, denied, back int
	compared, beyond      int // steps
	rounds                int
}

type grant struct {
	n       int
	at      int64
	charges []weir.Charge
}

type step struct {
	key     int
	now     int64
	ask     weir.Ask
	want    []weir.Answer // several, if so many asks are sent as one
	command *redis.Cmd
	part    int // of the reply, if that is one for many keys
}

func newDrive(t *testing.T, client *redis.Client, p weir.Policy, seed uint64) *drive {
	decider, err := p.Decider()
	if err != nil {
		t.Fatal(err)
	}
	d := &drive{T: t, client: client, policy: p, plan: newPlan(p, decider), random: rand.New(rand.NewPCG(seed, 1)), now: 1_700_000_000_123_457}
	if d.plan.codec == nil {
		t.Fatal("there is no script for it")
	}
	for i := range d.keys {
		d.keys[i] = fmt.Sprintf("%s %T%+v", t.Name(), p, p) + string(rune('a'+i))
		d.states[i] = make([]uint64, decider.Words())
	}
	if _, ok := d.plan.codec.(bucket); ok {
		d.before = backBeforeWaiters(t, p)
	}
	return d
}

// round makes steps that are sent together. In every other round they are made by the script for
// many keys, with other keys beside the one that is compared.
func (d *drive) round(n int) {
	script := driven.of[d.plan.head[0]]
	many := d.rounds%2 == 1
	if d.rounds++; many {
		script = script.Many
	}
	pipe := d.client.Pipeline()
	var steps []step
	for range n {
		k := d.random.IntN(len(d.keys))
		_, look := d.plan.decider.Decide(slices.Clone(d.states[k]), d.now*micro, weir.Ask{})
		d.now = max(d.now+d.pause(look), d.asNew[k])
		if d.plan.decider.Expiry(d.states[k]) <= d.now*micro {
			d.states[k], d.asNew[k] = make([]uint64, d.plan.decider.Words()), d.now
		}
		ask := d.ask(k, look)
		c := Call{Args: [4]any{d.plan.head}, one: d.plan}
		args, ok := d.plan.codec.ask(ask)
		if !ok {
			d.beyond++
			continue
		}
		c.Args[1] = args
		next, want, grants := d.decide(slices.Clone(d.states[k]), ask, nil, nil)
		if ask == (weir.Ask{N: 1}) && d.random.IntN(3) == 0 {
			for range d.random.IntN(12) {
				next, want, grants = d.decide(next, ask, want, grants)
			}
			c.Times(len(want))
		}
		if _, ok := d.plan.codec.encode(next, d.now); !ok {
			d.beyond++ // the script hands it over, unchanged
			continue
		}
		if d.states[k] = next; d.plan.decider.Expiry(next) <= d.now*micro {
			d.asNew[k] = d.now
		}
		d.grants[k] = append(d.grants[k], grants...)
		for _, a := range want {
			d.count(ask, a)
		}
		s := step{key: k, now: d.now, ask: ask, want: want}
		keys := []string{d.keys[k]}
		if many {
			for range d.random.IntN(3) {
				keys = slices.Insert(keys, d.random.IntN(len(keys)+1), d.keys[k]+" and others")
			}
			s.part = slices.Index(keys, d.keys[k])
		}
		s.command = pipe.EvalSha(context.Background(), script.SHA, keys, c.Args[0], c.Args[1], numbers(d.now, 1<<50))
		steps = append(steps, s)
	}
	if err := d.client.ScriptLoad(context.Background(), script.Source).Err(); err != nil {
		d.Fatal(err)
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		d.Fatal(err)
	}
	for i, s := range steps {
		text, err := s.command.Text()
		if err != nil {
			d.Fatal(err)
		}
		if many {
			text = d.nth(text, s.part)
		}
		r := read(text)
		what, now := r.uint(1), int64(r.uint(7))
		if what == other || now != s.now {
			d.Fatalf("step %d, %+v: the script replied %q, and the state of the key can't be read", i, s.ask, text)
		}
		for before, want := range s.want {
			want.At, want.ServerTime = s.now*micro, true
			got, agreed, err := d.plan.answer(nil, reply{what: byte(what), now: now, rest: r, before: before}, s.ask)
			if got != want || !agreed || err != nil {
				d.Fatalf("step %d at %d of key %d, %+v after %d others:\n got %d, %+v, %v\nwant    %+v",
					i, s.now, s.key, s.ask, before, what, got, err, want)
			}
		}
		d.compared++
	}
}

// nth is a part of a reply.
func (d *drive) nth(reply string, n int) (text string) {
	for i := 0; reply != ""; i++ {
		part, rest, ok := Part(reply)
		if !ok || part == "" {
			d.Fatalf("there is no part %d in %q", i, reply)
		}
		if reply = rest; i == n {
			text = part
		}
	}
	return text
}

// decide makes a step by the decider, and appends its answer to want. If it is a grant, it is appended
// to grants.
func (d *drive) decide(
	state []uint64, ask weir.Ask, want []weir.Answer, grants []grant,
) ([]uint64, []weir.Answer, []grant) {
	g := grant{n: ask.N, at: d.now * micro}
	if ask.N > 0 {
		ask.Charges = &g.charges
	}
	state, a := d.plan.decider.Decide(state, d.now*micro, ask)
	if ask.N > 0 && a.Allowed {
		if ask.Mode == weir.UpTo {
			g.n = a.Granted
		}
		grants = append(grants, g)
	}
	return state, append(want, a), grants
}

func (d *drive) count(ask weir.Ask, a weir.Answer) {
	switch {
	case ask.N < 0:
		d.back++
	case ask.N > 0 && a.Allowed:
		d.granted++
	case !a.Allowed:
		d.denied++
	}
}
