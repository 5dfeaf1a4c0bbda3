//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// isProgram is set for the processes that the tests start. They run main in place of the tests. To link
// another binary would take longer.
const isProgram = "SENDRATE_TESTS_ARE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main() // which exits
	}
	os.Exit(m.Run())
}

// A process is a run of the real program.
type process struct {
	*exec.Cmd
	t      *testing.T
	lines  *bufio.Reader // its standard output
	stdout io.Closer
	stderr bytes.Buffer
}

// prepare sets up the program to send on its standard output, and to save the rest in left.
func prepare(t *testing.T, stdin io.Reader, left string, args ...string) *process {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a test that hangs fails
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, path, append([]string{"-out", "-", "-left", left}, args...)...), t: t}
	p.Env = append(os.Environ(), isProgram+"=true")
	p.Stdin, p.Stderr = stdin, &p.stderr
	stdout, err := p.StdoutPipe()
	require.NoError(t, err)
	p.lines, p.stdout = bufio.NewReader(stdout), stdout
	return p
}

// read reads n lines that were sent.
func (p *process) read(n int) string {
	var got strings.Builder
	for range n {
		line, err := p.lines.ReadString('\n')
		require.NoError(p.t, err)
		got.WriteString(line)
	}
	return got.String()
}

// end reads what else was sent, waits for the end of the process and returns its exit code.
func (p *process) end() (sent string, code int) {
	b, err := io.ReadAll(p.lines)
	require.NoError(p.t, err)
	if err := p.Wait(); err != nil {
		require.ErrorAs(p.t, err, new(*exec.ExitError))
	}
	return string(b), p.ProcessState.ExitCode()
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// checkSplit checks that sent and the file left are all of text, and that the program said how
// many lines each has.
func (p *process) checkSplit(text, sent, left, says string) {
	rest := contents(p.t, left)
	assert.True(p.t, text == sent+rest, "%d bytes in, %d sent, %d left", len(text), len(sent), len(rest))
	assert.Contains(p.t, p.stderr.String(), fmt.Sprintf(says, countLines(sent), countLines(rest)))
}

// No line of a file is lost: those that were not sent are left, and a second run sends them.
func TestSignalWhileSendingAFile(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		policy string
		says   string
		code   int
	}{
		{os.Interrupt, "token-bucket", "interrupt: %d lines sent, %d left unsent\n", 130},
		{os.Interrupt, "sliding-log", "interrupt: %d lines sent, %d left unsent\n", 130},
		{syscall.SIGTERM, "leaky-bucket", "terminated: %d lines sent, %d left unsent\n", 143},
	} {
		t.Run(fmt.Sprint(c.signal, " ", c.policy), func(t *testing.T) {
			dir := t.TempDir()
			text := string(linesTo(runs.Long(50_000, 10_000))) + "no newline at the end"
			in, left := write(t, dir, "in", text), filepath.Join(dir, "left")
			p := prepare(t, nil, left, "-policy", c.policy, "-rate", "20", in)
			require.NoError(t, p.Start())
			sent := p.read(10)
			require.NoError(t, p.Process.Signal(c.signal))
			more, code := p.end()
			assert.Equal(t, c.code, code)
			p.checkSplit(text, sent+more, left, c.says)

			again := prepare(t, nil, filepath.Join(dir, "nothing"), "-rate", "1000000", left)
			require.NoError(t, again.Start())
			rest, code := again.end()
			assert.Equal(t, exitSent, code)
			assert.True(t, text == sent+more+rest, "two runs do not send the input")
		})
	}
}

// Of a pipe, what was read and not sent is left, a line that has only begun included.
func TestInterruptWhileSendingAPipe(t *testing.T) {
	left := filepath.Join(t.TempDir(), "left")
	stdin, w, err := os.Pipe()
	require.NoError(t, err)
	defer stdin.Close()
	defer w.Close()
	text := string(linesTo(50)) + "line 5"
	_, err = w.WriteString(text) // one write, which fits: it is read at once
	require.NoError(t, err)

	p := prepare(t, stdin, left, "-policy", "leaky-bucket", "-rate", "20")
	require.NoError(t, p.Start())
	sent := p.read(3)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	more, code := p.end()
	assert.Equal(t, 130, code)
	p.checkSplit(text, sent+more, left, "interrupt: %d lines sent, %d read and left unsent\n")
}

// A pipe that has nothing more to read for now does not hold up the end.
func TestInterruptWhileThePipeIsEmpty(t *testing.T) {
	left := filepath.Join(t.TempDir(), "left")
	stdin, w, err := os.Pipe()
	require.NoError(t, err)
	defer stdin.Close()
	defer w.Close()
	_, err = w.Write(linesTo(3))
	require.NoError(t, err)

	p := prepare(t, stdin, left)
	require.NoError(t, p.Start())
	sent := p.read(3)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	more, code := p.end()
	assert.Equal(t, 130, code)
	p.checkSplit(string(linesTo(3)), sent+more, left, "interrupt: %d lines sent, %d read and left unsent\n")
}

// A second interrupt ends the program at once, though it is still saving what is left.
func TestSecondInterrupt(t *testing.T) {
	dir := t.TempDir()
	in := write(t, dir, "in", string(linesTo(200_000)))
	saved, w, err := os.Pipe() // which fills up, as nobody goes on reading
	require.NoError(t, err)
	defer saved.Close()

	p := prepare(t, nil, "/dev/fd/3", "-rate", "20", in)
	p.ExtraFiles = []*os.File{w}
	require.NoError(t, p.Start())
	w.Close()
	p.read(1)
	second := syscall.SIGINT
	if signal.Ignored(second) { // as where a shell runs the tests in the background; the program inherits it
		second = syscall.SIGTERM
	}
	require.NoError(t, p.Process.Signal(os.Interrupt))
	_, err = saved.Read(make([]byte, 1)) // it has taken the first interrupt
	require.NoError(t, err)
	require.NoError(t, p.Process.Signal(second))
	_, code := p.end()
	assert.Equal(t, -1, code)
	assert.Equal(t, second, p.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// A receiver that goes away is an error like any other: it is reported, and the lines that the
// receiver did not take are left.
func TestReceiverGoesAway(t *testing.T) {
	dir := t.TempDir()
	text := string(linesTo(1000))
	in, left := write(t, dir, "in", text), filepath.Join(dir, "left")
	p := prepare(t, nil, left, "-rate", "20", in)
	require.NoError(t, p.Start())
	p.read(2)
	require.NoError(t, p.stdout.Close())
	err := p.Wait()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	assert.Equal(t, exitFailed, exit.ExitCode())

	rest := contents(t, left)
	assert.True(t, strings.HasSuffix(text, rest))
	sent := strings.TrimSuffix(text, rest)
	assert.Contains(t, p.stderr.String(), fmt.Sprintf("broken pipe: %d lines sent, %d left unsent\n", countLines(sent), countLines(rest)))
}
