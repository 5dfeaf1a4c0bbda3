// Command weir explains policies, tries them on the log of a server, and shows them side by side in
// the browser.
//
//	weir explain 'all(5/1s, 60/1m)'
//	weir replay 100/1m access.log
//	weir play 10/1s 'fixed-window 10/1s'
//
// Flags may come before or after policies and files, with one dash or with two. The exit status is
// 0 if all went well, 1 for a failure or more clients hit than -max-clients allows, and 2 for a
// mistake in the command line.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	_ "time/tzdata" // a policy may have a location, and the machine no database of time zones

	"github.com/urfave/cli/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	status := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run runs the command line args, and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &watched{Writer: stdout}
	root := &cli.Command{
		Name:            "weir",
		Usage:           "explain rate limits, and try them before they refuse anything",
		Commands:        commands(),
		Action:          noCommand,
		HideHelpCommand: true,
		Reader:          stdin,
		Writer:          out,
		ErrWriter:       stderr,
		OnUsageError:    asUsageError,
		ExitErrHandler:  func(context.Context, *cli.Command, error) {}, // run sets the status
	}
	var unknown error // for the help of an unknown command, package cli has an error and a status of its own
	root.CommandNotFound = func(_ context.Context, c *cli.Command, name string) { unknown = noSuchCommand(c, name) }
	for _, c := range root.Commands {
		c.OnUsageError = asUsageError
		c.CommandNotFound = ownHelp
	}
	err := root.Run(ctx, args)
	err = cmp.Or(err, unknown, out.err)
	if err == nil {
		return 0
	}
	fmt.Fprint(stderr, "weir: ")
	for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), "weir: "), "\n") {
		fmt.Fprintln(stderr, clean(line)) // may have names of files, and of the columns of a log
	}
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// A watched output keeps the first error of writing: package cli does not return the errors of
// writing help.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

// usage returns a usageError.
func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func asUsageError(_ context.Context, c *cli.Command, err error, _ bool) error {
	return usage("%w (see: %s -help)", err, c.FullName())
}

// ownHelp prints the help of c. Package cli takes an argument beside -help for a command of c whose
// help is wanted. Here the argument is a policy or a file, and c has no commands.
func ownHelp(ctx context.Context, c *cli.Command, _ string) {
	_ = cli.ShowCommandHelp(ctx, c.Root(), c.Name) // is there
}

// noCommand is what the root command does itself: it prints its help, or that of a command.
func noCommand(ctx context.Context, c *cli.Command) error {
	args := c.Args().Slice()
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
		if len(args) > 0 && c.Command(args[0]) != nil {
			return cli.ShowCommandHelp(ctx, c, args[0])
		}
	}
	if len(args) == 0 {
		return cli.ShowRootCommandHelp(c)
	}
	return noSuchCommand(c, args[0])
}

func noSuchCommand(root *cli.Command, name string) error {
	var names []string
	for _, sub := range root.Commands {
		names = append(names, sub.Name)
	}
	return usage("command is %q, must be one of %s", name, strings.Join(names, ", "))
}
