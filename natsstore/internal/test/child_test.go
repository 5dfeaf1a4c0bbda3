package test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/test/tied"
	"github.com/weir-go/weir/internal/testport"

	"github.com/weir-go/weir/internal/suite/traffic"
)

// A child is a server in a process of its own, which is this program again. It can be killed, as by
// a crash, and started again with its files on the same port.
type child struct {
	port  testport.Port
	dir   string
	cmd   *exec.Cmd
	ended chan struct{}
}

const portOfChild, dirOfChild = "NATSSTORE_TEST_PORT", "NATSSTORE_TEST_DIR"

// serveIfChild is the whole program of a child.
func serveIfChild() {
	port := os.Getenv(portOfChild)
	if port == "" {
		return
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: number, StoreDir: os.Getenv(dirOfChild), JetStream: true, NoLog: true,
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
	os.Exit(1) // it could not listen, for example
}

// startChild starts a child on the first port on which it can listen.
func startChild(tb testing.TB) *child {
	tb.Helper()
	c := &child{dir: tb.TempDir()}
	tb.Cleanup(func() { c.kill(); _ = c.port.Close() })
	for try := 1; ; try++ {
		var err error
		c.port, err = testport.Claim()
		require.NoError(tb, err)
		if err = c.serve(); err == nil {
			return c
		}
		_ = c.port.Close() // another one is claimed
		require.Less(tb, try, 5, "%v", err)
	}
}

// start starts the server again.
func (c *child) start(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, c.serve())
}

// serve starts the process, and returns when it answers.
func (c *child) serve() error {
	c.cmd, c.ended = exec.Command(os.Args[0]), make(chan struct{})
	c.cmd.Env = append(os.Environ(), fmt.Sprint(portOfChild, "=", c.port.Number), dirOfChild+"="+c.dir)
	if err := tied.Start(c.cmd); err != nil {
		close(c.ended)
		return err
	}
	go func() {
		_ = c.cmd.Wait() // it is killed
		close(c.ended)
	}()
	for end := time.Now().Add(traffic.Patience); ; {
		conn, err := nats.Connect("nats://"+c.port.Addr(), nats.NoReconnect())
		if err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-c.ended:
			return errors.New("the server ended")
		case <-time.After(5 * time.Millisecond):
			if time.Now().After(end) {
				return err
			}
		}
	}
}

// kill ends the process by SIGKILL.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // an error: it has ended
	<-c.ended
}
