package redisstore_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// jobEnv makes TestProcess a process of its own, that does the job which it holds.
const jobEnv = "WEIR_REDISSTORE_JOB"

// A job is what one process of many does: its callers ask for one event of each key in turn, Rounds
// times over.
type job struct {
	Addrs                 []string
	Cluster               bool
	Policy                weir.FixedWindow
	Name                  string
	Callers, Keys, Rounds int
}

func key(i int) string { return fmt.Sprint("key ", i) }

func (j job) limiter(t *testing.T) *weir.KeyedLimiter {
	var client interface {
		redisstore.Client
		io.Closer
	} = redis.NewClient(&redis.Options{Addr: j.Addrs[0], ReadTimeout: checks.Patience})
	if j.Cluster {
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: j.Addrs, ReadTimeout: checks.Patience})
	}
	t.Cleanup(func() { _ = client.Close() })
	return weir.Must(weir.New(j.Policy, weir.WithStore(newStore(t, client)), weir.WithName(j.Name)))
}

func TestFaults_ManyProcessesOnOneKey(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	j := job{Addrs: []string{server.Addr()}, Callers: 8, Keys: 1, Rounds: runs.Long(400, 50), Policy: checks.Spacious}
	j.Policy.Limit = 100
	checkProcesses(t, runs.Long(8, 4), j)
}

// checkProcesses runs the job in n processes at once, and checks that together they were granted
// the limit of each key, exactly.
func checkProcesses(t *testing.T, n int, j job) {
	j.Name = t.Name()
	encoded, err := json.Marshal(j)
	require.NoError(t, err)
	var begin []io.Closer
	var outputs []*bufio.Reader
	var cmds []*exec.Cmd
	for range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), jobEnv+"="+string(encoded))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() }) // if this test ends early
		begin, outputs, cmds = append(begin, in), append(outputs, bufio.NewReader(out)), append(cmds, cmd)
		line, err := outputs[len(outputs)-1].ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready", strings.TrimSpace(line))
	}
	for _, in := range begin {
		require.NoError(t, in.Close())
	}
	granted := make([]int, j.Keys)
	for i, out := range outputs {
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		var of []int
		require.NoError(t, json.Unmarshal([]byte(line), &of), "%s", line)
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.NoError(t, cmds[i].Wait(), "%s", rest) // else it has failed later, or found a data race
		require.Len(t, of, j.Keys)
		for i, n := range of {
			granted[i] += n
		}
	}
	for i, got := range granted {
		require.Equal(t, j.Policy.Limit, got, "granted of %s", key(i))
	}
	assert.Equal(t, j.Policy.Limit, checks.Counted(t, j.limiter(t), key(0)))
}

// TestProcess does a job: it says that it is ready, begins when its input ends, and says how often
// each key was granted.
func TestProcess(t *testing.T) {
	encoded := os.Getenv(jobEnv)
	if encoded == "" {
		t.Skip("checkProcesses runs it")
	}
	var j job
	require.NoError(t, json.Unmarshal([]byte(encoded), &j))
	l := j.limiter(t)
	_, err := l.Take(t.Context(), key(0), 0)
	require.NoError(t, err)
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)

	granted := make([]atomic.Int64, j.Keys)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range j.Callers {
		callers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= j.Keys*j.Rounds {
					return
				}
				r, err := l.Take(t.Context(), key(i%j.Keys), 1)
				if err != nil {
					fmt.Println(err) // where the parent expects the result
					return
				}
				if r.Allowed {
					granted[i%j.Keys].Add(1)
				}
			}
		})
	}
	callers.Wait()
	result := make([]int64, j.Keys)
	for i := range granted {
		result[i] = granted[i].Load()
	}
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(result))
}
