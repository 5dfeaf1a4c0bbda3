package tied_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/test/tied"
)

const roleEnv = "WEIR_TIED_ROLE"

func again(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildDiesWithItsParent$")
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

// A process that is killed takes its child with it. The child holds an end of a pipe, which is
// closed when it ends. Both sleep, since the runtime ends a program whose goroutines all wait for
// nothing.
func TestChildDiesWithItsParent(t *testing.T) {
	switch os.Getenv(roleEnv) {
	case "parent":
		child := again("child")
		child.Stdout = os.Stdout
		require.NoError(t, tied.Start(child))
		time.Sleep(time.Hour)
	case "child":
		fmt.Println("started")
		time.Sleep(time.Minute)
		fmt.Println("outlived its parent")
		return
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	parent := again("parent")
	parent.Stdout = w
	require.NoError(t, parent.Start())
	require.NoError(t, w.Close())
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "started\n", line)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait() // it was killed
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	assert.Empty(t, rest)
}
