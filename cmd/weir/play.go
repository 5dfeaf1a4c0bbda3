package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/play"
	"github.com/weir-go/weir/cmd/weir/internal/sim"
)

func playCommand() *cli.Command {
	return &cli.Command{
		Name:      "play",
		Usage:     "try policies side by side, in the browser",
		ArgsUsage: "[POLICY …]",
		Description: "play serves one page, which runs weir itself as WebAssembly. Each POLICY is a lane, such as\n" +
			"10/1s or 'fixed-window 10/1s'. play needs the go command, and a clone of weir.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "addr", Value: "127.0.0.1:8429", Usage: "serve at this `ADDRESS`; port 0 is any free port", OnlyOnce: true},
			&cli.StringFlag{Name: "build", Usage: "write the page as static files into `DIR`, and serve nothing", OnlyOnce: true},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.IsSet("build") && c.String("build") == "" {
				return usage("-build is \"\", must be a directory")
			}
			if c.IsSet("build") && c.Args().Present() {
				return usage("-build takes no POLICY: a link to the page that it writes can name any policies")
			}
			host, _, err := net.SplitHostPort(c.String("addr"))
			if err != nil {
				return usage("-addr is %q, must be a host and a port, such as 127.0.0.1:0", c.String("addr"))
			}
			query, err := playQuery(c.Args().Slice())
			if err != nil {
				return usageError{err}
			}
			if dir := c.String("build"); dir != "" {
				return writePage(ctx, dir, c.Root().Writer)
			}
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.String("addr")) // before the page is built, which may take long
			if err != nil {
				return err
			}
			site, err := play.NewSite(ctx)
			if err != nil {
				return errors.Join(err, l.Close())
			}
			return site.Serve(ctx, l, host, query, c.Root().Writer)
		},
	}
}

func writePage(ctx context.Context, dir string, out io.Writer) error {
	site, err := play.NewSite(ctx)
	if err != nil {
		return err
	}
	if err := site.Write(dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "The page is in %s. Serve it as static files, with compression.\n", dir)
	return nil
}

// playQuery returns the link of a scenario with a lane for each policy, or "" if there is none.
func playQuery(policies []string) (string, error) {
	if len(policies) == 0 {
		return "", nil
	}
	s := sim.Default()
	for _, text := range policies {
		p, err := explain.Parse(text)
		if err != nil {
			return "", err
		}
		if needsZone(p) {
			return "", fmt.Errorf("policy %v must be in UTC: a browser has no database of time zones", p)
		}
		s.Lanes = append(s.Lanes, sim.Lane{Policy: p})
	}
	if _, err := sim.New(s); err != nil {
		return "", err
	}
	return s.Query(), nil
}

// needsZone reports whether p cannot be shown in a browser, because of its time zone.
func needsZone(p weir.Policy) bool {
	if c, ok := p.(weir.CalendarWindow); ok {
		return c.Location != "" && c.Location != "UTC"
	}
	return slices.ContainsFunc(weir.Components(p), needsZone)
}
