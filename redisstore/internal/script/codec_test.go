package script

import (
	"context"
	"slices"
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
