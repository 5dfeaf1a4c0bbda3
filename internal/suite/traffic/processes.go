package traffic

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// serverEnv makes a test of [Processes] one of the processes, which asks that server with a limiter
// of the name in nameEnv.
const (
	serverEnv = "WEIR_TRAFFIC_SERVER"
	nameEnv   = "WEIR_TRAFFIC_NAME"
)

// hundred is the policy of the key that the processes share.
var hundred = weir.FixedWindow{Limit: 100, Per: Year, FromFirst: true}

// Processes checks that several processes with eight callers each are granted exactly the limit of
// a key. Goroutines of one process would share more than a server: the round trips for a key, and
// clocks, for example.
//
// start starts a server, and returns how to find it. open opens a store on it. It is called in each
// of the processes, which are this program again with the same test.
func Processes(t *testing.T, start func(t *testing.T) (server string), open func(t *testing.T, server string) weir.Store) {
	t.Helper()
	limiter := func(server, name string) *weir.KeyedLimiter {
		return weir.Must(weir.New(hundred, weir.WithStore(open(t, server)), weir.WithName(name)))
	}
	if server := os.Getenv(serverEnv); server != "" {
		beOneProcess(t, limiter(server, os.Getenv(nameEnv)))
		return
	}
	t.Parallel()
	server, name := start(t), fmt.Sprint("processes ", time.Now().UnixNano()) // the server may know an earlier run
	var begin []io.Closer
	var outputs []*bufio.Reader
	var cmds []*exec.Cmd
	for range runs.Long(8, runs.InCI(8, 3)) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), serverEnv+"="+server, nameEnv+"="+name)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		kit.NoError(t, err)
		out, err := cmd.StdoutPipe()
		kit.NoError(t, err)
		kit.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() }) // if this test ends early
		begin, outputs, cmds = append(begin, in), append(outputs, bufio.NewReader(out)), append(cmds, cmd)
		line, err := outputs[len(outputs)-1].ReadString('\n')
		kit.NoError(t, err)
		if line != "ready\n" {
			t.Fatalf("a process said %q, want that it is ready", line)
		}
	}
	for _, in := range begin {
		kit.NoError(t, in.Close())
	}
	all := 0
	for i, out := range outputs {
		var granted, denied int
		line, err := out.ReadString('\n')
		kit.NoError(t, err)
		_, err = fmt.Sscanf(line, "%d granted, %d denied", &granted, &denied)
		if err != nil {
			t.Fatalf("a process said %q: %v", line, err)
		}
		if denied == 0 {
			t.Error("a process was denied nothing, but more was asked for than there is")
		}
		all += granted
		rest, err := io.ReadAll(out)
		kit.NoError(t, err)
		if err := cmds[i].Wait(); err != nil { // it has failed later, or found a data race
			t.Errorf("a process ended: %v\n%s", err, rest)
		}
	}
	if all != hundred.Limit {
		t.Errorf("%d granted, want %d", all, hundred.Limit)
	}
	if counted := Counted(t, limiter(server, name), "k"); counted != hundred.Limit {
		t.Errorf("counted %d, want %d", counted, hundred.Limit)
	}
}

// beOneProcess says that it is ready, begins when its input ends, and says how it went.
func beOneProcess(t *testing.T, l *weir.KeyedLimiter) {
	if counted := Counted(t, l, "k"); counted != 0 {
		t.Fatalf("counted %d before the first request, want 0", counted)
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	kit.NoError(t, err)
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
