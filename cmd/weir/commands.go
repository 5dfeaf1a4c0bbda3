package main

import "github.com/urfave/cli/v3"

// commands returns the commands, in the order of the help. Each has a file of its own.
func commands() []*cli.Command {
	return []*cli.Command{
		explainCommand(),
		replayCommand(),
		playCommand(),
	}
}
