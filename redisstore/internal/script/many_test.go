package script

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// parts takes a reply for n keys apart.
func parts(t *testing.T, reply string, n int) (texts []string, oks []bool) {
	for range n {
		part, rest, ok := Part(reply)
		texts, oks, reply = append(texts, part), append(oks, ok), rest
	}
	assert.Empty(t, reply)
	return texts, oks
}

// An error for one key concerns no other key, and a key that comes twice is decided on twice.
func TestManyKeysDoNotConcernEachOther(t *testing.T) {
	ctx, client := context.Background(), newClient(t)
	for _, p := range []weir.Policy{differential[0], differential[6], differential[9], differential[16]} {
		decider, err := p.Decider()
		require.NoError(t, err)
		plan := newPlan(p, decider)
		script := real.of[plan.head[0]]
		args := []any{plan.headArg, plan.one}
		require.NoError(t, client.FlushAll(ctx).Err())
		require.NoError(t, client.LPush(ctx, "list", "x").Err())
		require.NoError(t, client.Set(ctx, "short", plan.head+"x", 0).Err())
		require.NoError(t, client.Set(ctx, "foreign", "of another policy", 0).Err())
		reply, err := client.Eval(ctx, script.Many.Source, []string{"a", "list", "b", "short", "a", "foreign", "c"}, args...).Text()
		require.NoError(t, err)
		texts, oks := parts(t, reply, 7)
		for i, want := range []byte{done, failed, done, failed, done, other, done} {
			require.Equal(t, want != failed, oks[i], "%T, key %d", p, i)
			if want == failed {
				assert.Empty(t, texts[i])
				continue
			}
			assert.Equal(t, want, texts[i][0], "%T, key %d: %q", p, i, texts[i])
		}
		again, err := client.Eval(ctx, script.Source, []string{"b"}, plan.headArg, plan.one).Text()
		require.NoError(t, err)
		assert.Equal(t, len(texts[4]), len(again), "as long as the second of a")
		assert.Equal(t, "of another policy", texts[5][8:])
	}
}

func TestManyKeysAreRead(t *testing.T) {
	ctx, client := context.Background(), newClient(t)
	require.NoError(t, client.Set(ctx, "a", "value", 0).Err())
	reply, err := client.Eval(ctx, real.read.Many.Source, []string{"none", "a"}).Text()
	require.NoError(t, err)
	texts, oks := parts(t, reply, 2)
	assert.Equal(t, []bool{true, true}, oks)
	assert.Equal(t, []string{"", "value"}, []string{texts[0][8:], texts[1][8:]})
	assert.Equal(t, texts[0][:8], texts[1][:8], "at one instant")
}

// A part that is missing is no failure: something may have been counted.
func TestPartsThatAreMissing(t *testing.T) {
	for _, reply := range []string{"", "\x00\x00\x00", "\x00\x00\x00\x02x", "\xff\xff\xff\xff"} {
		part, rest, ok := Part(reply)
		assert.True(t, ok, "%q", reply)
		assert.Empty(t, part+rest)
	}
	part, rest, ok := Part("\x00\x00\x00\x00\x00\x00\x00\x01x")
	assert.True(t, ok)
	assert.Empty(t, part)
	assert.Equal(t, "\x00\x00\x00\x01x", rest)
}
