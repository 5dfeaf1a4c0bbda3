package memcachedstore_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// serverEnv makes TestProcess a process of its own, which asks the server at that address.
const serverEnv = "WEIR_MEMCACHEDSTORE_SERVER"

// hundred is the policy of the key that the processes share.
var hundred = weir.FixedWindow{Limit: 100, Per: traffic.Year, FromFirst: true}

const shared = "processes" // the name of its limiter

// Eight processes with eight callers each are granted exactly the limit of a key.
func TestProcessesShareALimit(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Start(t)
	var begin []io.Closer
	var outputs []*bufio.Reader
	for range 8 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), serverEnv+"="+server.Addr())
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() }) // its output tells how it went
		begin, outputs = append(begin, in), append(outputs, bufio.NewReader(out))
		line, err := outputs[len(outputs)-1].ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
	}
	for _, in := range begin {
		require.NoError(t, in.Close())
	}
	all := 0
	for _, out := range outputs {
		var granted, denied int
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		_, err = fmt.Sscanf(line, "%d granted, %d denied", &granted, &denied)
		require.NoError(t, err, "%s", line)
		assert.Positive(t, denied, "more was asked for than there is")
		all += granted
	}
	assert.Equal(t, hundred.Limit, all)
	l := newLimiter(t, newStore(t, newClient(t, server.Addr())), hundred, shared)
	assert.Equal(t, hundred.Limit, traffic.Counted(t, l, "k"))
}

// TestProcess is one of them: it says that it is ready, begins when its input ends, and says how it
// went.
func TestProcess(t *testing.T) {
	addr := os.Getenv(serverEnv)
	if addr == "" {
		t.Skip("TestProcessesShareALimit runs it")
	}
	l := newLimiter(t, newStore(t, newClient(t, addr)), hundred, shared)
	require.Zero(t, traffic.Counted(t, l, "k"))
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	var granted, denied atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range runs.Long(200, 40) {
				switch r, err := l.Take(t.Context(), "k", 1); {
				case err != nil:
					fmt.Println(err) // where the parent expects the result
					return
				case r.Allowed:
					granted.Add(1)
				default:
					denied.Add(1)
				}
			}
		})
	}
	callers.Wait()
	fmt.Printf("%d granted, %d denied\n", granted.Load(), denied.Load())
}
