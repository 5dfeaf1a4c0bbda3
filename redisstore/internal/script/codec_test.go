package script

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Scripts and codecs read each other's values: what a script has left is the decider's state, and
// it goes on from a value that was made of that.
func TestValuesAreThoseOfScripts(t *testing.T) {
	ctx, client := context.Background(), newClient(t)
	for i, p := range differential {
		d := newDrive(t, client, p, uint64(i))
		script, key, state, encoded := driven.of[d.plan.head[0]], d.keys[0], d.states[0], 0
		for range runs.Long(300, 200) {
			d.now += d.random.Int64N(200_000)
			ask := weir.Ask{N: 1 + d.random.IntN(3), Mode: weir.UpTo}
			args, ok := d.plan.codec.ask(ask)
			require.True(t, ok)
			if d.plan.decider.Expiry(state) <= d.now*micro { // Redis may have forgotten it, by its own clock
				require.NoError(t, client.Del(ctx, key).Err())
				state = make([]uint64, d.plan.decider.Words())
			}
			require.NoError(t, client.Eval(ctx, script.Source, []string{key}, d.plan.head, args, numbers(d.now, 1<<50)).Err())
			state, _ = d.plan.decider.Decide(state, d.now*micro, ask)
			value, err := client.Get(ctx, key).Result()
			require.NoError(t, err, "%+v", p)
			require.Equal(t, d.plan.head, value[:len(d.plan.head)])
			decoded, latest, ok := d.plan.codec.decode(nil, read(value[len(d.plan.head):]))
			require.True(t, ok, "%+v: %q", p, value)
			require.LessOrEqual(t, latest, d.now)
			require.NoError(t, weir.CheckState(d.plan.decider, decoded))
			require.Equal(t, d.plan.decider.Expiry(state), d.plan.decider.Expiry(decoded), "%+v", p)
			_, want := d.plan.decider.Decide(slices.Clone(state), d.now*micro, weir.Ask{})
			_, got := d.plan.decider.Decide(decoded, d.now*micro, weir.Ask{})
			require.Equal(t, want, got, "%+v", p)
			if b, ok := d.plan.codec.encode(state, d.now); ok && d.random.IntN(2) == 0 {
				require.NoError(t, client.Set(ctx, key, d.plan.head+string(b), 0).Err())
				encoded++
			}
		}
		require.Greater(t, encoded, 50, "%+v", p)
	}
}

// R21: any bytes are refused, or decoded to a state that the script can go on from.
func FuzzR21_AnyData(f *testing.F) {
	var plans []*plan
	for _, p := range differential {
		decider, err := p.Decider()
		require.NoError(f, err)
		plans = append(plans, newPlan(p, decider))
	}
	for i := range plans {
		for _, data := range []string{
			"\x06\x0a\x24\x18\x1e\x40\x00" + "\x00\x00\x00\x00\x00\x00\x05" + "\x01\x02\x03\x04\x05\x06",
			"\x06\x0a\x24\x18\x1e\x40\x00" + "\x00\x00\x00\x00\x00\x05",
			"\x06\x0a\x24\x18\x1e\x40\x00" + "\x04\x00\x00\x00\x00\x00",
			"\x06\x0a\x24\x18\x1e\x40\x00" + "\xff\xff\xff\xff\xff\xff\xff" + strings.Repeat("\xff", 20),
			"\x06\x0a\x24\x18\x1e\x40\x00" + "\x00\x00\x00\x00\x00\x00\x05" +
				"\x00\x00\x00" + "\x00\x00\x0b" + "\x00\x00\x0b" + strings.Repeat("\x00\x00\x01", 11),
		} {
			f.Add(data, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, data string, i uint8) {
		p := plans[int(i)%len(plans)]
		state, latest, ok := p.codec.decode(nil, read(data))
		if !ok || weir.CheckState(p.decider, state) != nil {
			return
		}
		b, ok := p.codec.encode(state, latest)
		require.True(t, ok, "%v: %q is decoded to %v", p.policy, data, state)
		again, _, ok := p.codec.decode(nil, read(string(b)))
		require.True(t, ok, "%v: %q", p.policy, data)
		require.Equal(t, p.decider.Expiry(state), p.decider.Expiry(again), "%v: %q", p.policy, data)
		_, want := p.decider.Decide(state, latest*micro, weir.Ask{})
		_, got := p.decider.Decide(again, latest*micro, weir.Ask{})
		require.Equal(t, want, got, "%v: %q", p.policy, data)
	})
}
