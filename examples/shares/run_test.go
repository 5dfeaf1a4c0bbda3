package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An output is written and read concurrently.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Two programs find each other, and divide the limit.
func TestRun(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	ctx, stop := context.WithCancel(context.Background())
	var first, second, faults output
	codes := make(chan int)
	// Nothing here waits for a session to expire. A call may take as long on a machine under load.
	start := func(out *output) {
		go func() { codes <- run(ctx, []string{"-etcd", etcd, "-ttl", "1m", "-policy", "100/100ms"}, out, &faults) }()
	}
	has := func(out *output, text string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Contains(c, out.String(), text) },
			time.Minute, 20*time.Millisecond)
	}
	start(&first)
	has(&first, "member 1 of 1\n")
	start(&second)
	has(&second, "member 2 of 2\n")
	has(&first, "member 1 of 2\n")
	for _, out := range []*output{&first, &second} {
		require.Eventually(t, func() bool {
			lines := strings.Split(out.String(), "  granted ")
			return len(lines) > 1 && strings.Trim(lines[len(lines)-1], "0\n") != ""
		}, time.Minute, 20*time.Millisecond)
	}
	stop()
	assert.Zero(t, <-codes)
	assert.Zero(t, <-codes)
	assert.Empty(t, faults.String())
}

func TestRun_CommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, 0, "Usage: shares [flags]"},
		{[]string{"-ttl", "1500ms"}, 2, "must be a whole number of seconds from 1s to 1h"},
		{[]string{"-policy", "0/1s"}, 2, "Limit is 0, must be at least 1"},
		{[]string{"more"}, 2, `argument "more", must be none`},
	} {
		var out output
		assert.Equal(t, test.code, run(context.Background(), test.args, &out, &out), "%v", test.args)
		assert.Contains(t, out.String(), test.want)
	}
}
