package tied_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

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
// closed when it ends.
func TestChildDiesWithItsParent(t *testing.T) {
	switch os.Getenv(roleEnv) {
	case "parent":
		child := again("child")
		child.Stdout = os.Stdout
		require.NoError(t, tied.Start(child))
		select {}
	case "child":
		fmt.Println("started")
		select {}
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
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
}
