package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// asProgram makes the test binary be the program. Nodes are started with nodeArg alone.
const asProgram = "WEIR_EXAMPLE_FLEET"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) == 2 && os.Args[1] == nodeArg {
		main()
		return
	}
	// Those that are parallel wait for windows, and count nothing. Those that count run alone. The
	// flag -parallel is read later, and wins.
	if err := flag.Set("test.parallel", "3"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// An output is written and read concurrently. It closes seen when it has the text.
type output struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen chan struct{}
}

func outputUntil(text string) *output { return &output{text: text, seen: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	had := strings.Contains(o.all.String(), o.text)
	o.all.Write(p)
	if !had && strings.Contains(o.all.String(), o.text) {
		close(o.seen)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// program starts the program as users do, and returns when it has written the text.
func program(t *testing.T, text string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	out := outputUntil(text)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+t.TempDir()) // a killed program leaves its folder
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	select {
	case <-out.seen:
	case <-ctx.Done():
		require.FailNow(t, "not written", "%q in %s", text, out)
	}
	return cmd, out
}

// An interrupt prints what there is, and draws it.
func TestInterrupt(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	svg := filepath.Join(t.TempDir(), "some.svg")
	cmd, out := program(t, " 1 even ", "-time", "30s", "-svg", svg)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // for the nodes, too, because they have its standard error
	assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%s", out)
	assert.Contains(t, out.String(), "most in")
	checkSVG(t, svg, "plain")
}

// When the program is killed, its nodes end. Wait waits for them, because they have its standard error.
func TestKill(t *testing.T) {
	t.Parallel()
	cmd, _ := program(t, " 1 even ", "-time", "30s", "-svg", "")
	require.NoError(t, cmd.Process.Kill())
	var killed *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &killed)
}

// checkSVG checks that a file is an SVG with these texts.
func checkSVG(t *testing.T, file string, texts ...string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var found strings.Builder
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			found.Write(text)
		}
	}
	for _, text := range texts {
		assert.Contains(t, found.String(), text)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, exitDone, "Usage: fleet [flags]"},
		{[]string{"-time", "2s"}, exitUsage, `invalid value "2s" for flag -time: must be from 3s to 1h0m0s`},
		{[]string{"-time", "soon"}, exitUsage, `invalid value "soon" for flag -time: must be from`},
		{[]string{"-rate", "1999"}, exitUsage, `invalid value "1999" for flag -rate: must be a whole number from 2000 to 10000000`},
		{[]string{"-rate", "fast"}, exitUsage, `invalid value "fast"`},
		{[]string{"more"}, exitUsage, `argument "more", must be none`},
		{[]string{"-redis", "localhost:1"}, exitFault, "-redis localhost:1: "},
	} {
		var out bytes.Buffer
		assert.Equal(t, test.code, run(t.Context(), test.args, &out, &out), "%v", test.args)
		assert.Contains(t, out.String(), test.want)
	}
}
