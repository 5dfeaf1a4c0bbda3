package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/accesslog"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "say how many requests of a log each policy would have refused",
		ArgsUsage: "POLICY… [FILE…]",
		Description: "Each POLICY has the text form that weir.ParsePolicy reads, such as 300/1m or\n" +
			"'all(5/1s, 60/1m)'. Each FILE is the log of a web server, and may be compressed by gzip.\n" +
			"Logs are merged by time. Without a FILE, replay reads the standard input, as it does for -.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Value: "ip", Usage: "`FIELD` that identifies a client; ip is the address, or the /64 of an IPv6 address", OnlyOnce: true},
			&cli.StringFlag{Name: "cost", Usage: "`FIELD` with the number of events that a request counts as", OnlyOnce: true},
			&cli.StringFlag{Name: "where", Usage: "count only requests for which `EXPR` holds, such as 'method=POST and path~^/login'", OnlyOnce: true},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the log: " + strings.Join(accesslog.Formats(), ", ") + "; detected if not set", OnlyOnce: true},
			&cli.StringFlag{Name: "time", Usage: "`FIELD` with the time, of JSON or CSV", OnlyOnce: true},
			&cli.BoolFlag{Name: "spread", Value: true, Usage: "if the log has whole seconds, spread the requests of a second over it; =false counts all at its start", DefaultText: "true"},
			&cli.StringFlag{Name: "sweep", Usage: "also find the smallest limits that hit fewer than these `SHARES` of the clients, in percent: 0.01,0.1,1", OnlyOnce: true},
			&cli.StringFlag{Name: "max-clients", Usage: "exit with status 1 if a policy hits more than this `SHARE` of the clients: 0.1%", OnlyOnce: true},
			&cli.BoolFlag{Name: "json", Usage: "write JSON, with all that was found"},
			&cli.BoolFlag{Name: "csv", Usage: "write CSV, a line for each policy"},
			&cli.BoolFlag{Name: "svg", Usage: "write a picture of the requests over time"},
			&cli.BoolFlag{Name: "bad", Usage: "write the lines that are not understood to the standard error"},
		},
		Action: replayAction,
	}
}

func replayAction(ctx context.Context, c *cli.Command) error {
	root := c.Root()
	for _, name := range []string{"key", "cost", "where", "format", "time"} {
		if c.IsSet(name) && c.String(name) == "" { // of an empty variable
			return usage("-%s is \"\", must not be empty", name)
		}
	}
	where, err := replay.ParseWhere(c.String("where"))
	if err != nil {
		return usageError{err}
	}
	write, err := output(c)
	if err != nil {
		return err
	}
	shares, err := percents(c, "sweep")
	if err != nil {
		return err
	}
	most, err := percents(c, "max-clients")
	if err != nil {
		return err
	}
	if f := c.String("format"); f != "" && !slices.Contains(accesslog.Formats(), f) {
		return usage("-format is %q, must be one of %s", f, strings.Join(accesslog.Formats(), ", "))
	}
	policies, files, err := policiesAndFiles(c.Args().Slice())
	if err != nil {
		return err
	}
	progress := newProgress(root.ErrWriter, files)
	logs, err := openable(files, root.Reader, progress)
	if err != nil {
		return err
	}
	config := replay.Config{
		Format: c.String("format"), Time: c.String("time"), Key: c.String("key"), Cost: c.String("cost"),
		Where: where, Spread: c.Bool("spread"), Progress: progress.show,
	}
	if len(shares) > 0 && (c.Bool("csv") || c.Bool("svg")) {
		return usage("-sweep cannot be used with -csv or -svg, which have no place for its limits")
	}
	if once := readOnce(files); len(shares) > 0 && once != "" {
		return usage("-sweep reads the log several times, which needs a FILE in place of %s", once)
	}
	first := config
	if c.Bool("bad") {
		first.Bad = func(file string, number int, line []byte, err error) {
			progress.clear()
			fmt.Fprintf(root.ErrWriter, "%s:%d: %v: %.200q\n", clean(file), number, err, line)
		}
	}
	report, err := replay.Run(ctx, first, policies, logs)
	switch {
	case errors.Is(err, accesslog.ErrField):
		return usageError{err}
	case report == nil:
		return err
	}
	result := replayed{Report: report}
	if len(shares) > 0 && err == nil && !report.Stopped && report.Requests > 0 {
		if err = result.sweep(ctx, config, policies, shares, logs); ctx.Err() != nil {
			err = errors.New("stopped before -sweep had its limits")
		}
	}
	progress.clear()
	if err := errors.Join(write(root.Writer, result), err); err != nil {
		return err
	}
	return verdict(report, most)
}

// replayed is all that is written.
type replayed struct {
	*replay.Report
	Fits   [][]replay.Fit `json:"fits,omitempty"` // for each policy, one for each share
	shares []share        // of -sweep
}

func (r *replayed) sweep(ctx context.Context, c replay.Config, policies []weir.Policy, shares []share, logs []replay.Log) error {
	r.shares = shares
	var of []float64
	for _, s := range shares {
		of = append(of, s.of)
	}
	for _, p := range policies {
		fits, err := replay.Sweep(ctx, c, p, of, logs)
		if err != nil {
			return err
		}
		r.Fits = append(r.Fits, fits)
	}
	return nil
}

// verdict returns the error that decides the exit status, once the report is written. most has the
// limit of -max-clients, or is empty if there is none.
func verdict(r *replay.Report, most []share) error {
	switch {
	case r.Stopped:
		return errors.New("stopped before the end of the log")
	case r.Requests == 0:
		return fmt.Errorf("no request was counted, of %s", explain.Plural(lines(r), "line", "lines"))
	case r.Costless == r.Requests:
		return errors.New("no request has the field of -cost, and so none is refused")
	case len(most) == 0:
		return nil
	}
	var errs []error
	for _, p := range r.Policies {
		if float64(p.Hit)/float64(r.Clients) > most[0].of {
			errs = append(errs, fmt.Errorf("%s hits %s of %s, more than %s", p.Policy, explain.Count(p.Hit),
				explain.Plural(r.Clients, "client", "clients"), most[0]))
		}
	}
	return errors.Join(errs...)
}

// output returns what writes the result.
func output(c *cli.Command) (func(io.Writer, replayed) error, error) {
	write, name := writeText, ""
	for _, format := range []struct {
		name  string
		write func(io.Writer, replayed) error
	}{{"json", writeJSON}, {"csv", writeCSV}, {"svg", writeSVG}} {
		if !c.Bool(format.name) {
			continue
		}
		if name != "" {
			return nil, usage("-%s and -%s cannot be used together", name, format.name)
		}
		write, name = format.write, format.name
	}
	return write, nil
}

// A share of the clients is shown as it was given, because two shares may look the same when
// rounded.
type share struct {
	given string // in percent
	of    float64
}

func (s share) String() string { return s.given + "%" }

// percents reads shares in percent, such as 0.01,0.1,1 or 0.1%.
func percents(c *cli.Command, flag string) (shares []share, err error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	list, least := c.String(flag), "at least 0"
	if flag == "sweep" {
		least = "above 0"
	}
	for text := range strings.SplitSeq(list, ",") {
		given := strings.TrimSuffix(strings.TrimSpace(text), "%")
		x, err := strconv.ParseFloat(given, 64)
		if err != nil || !(x >= 0 && x <= 100) || flag == "sweep" && x == 0 {
			return nil, usage("-%s is %q, must be a percentage such as 0.1, %s and at most 100", flag, text, least)
		}
		exact, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'f', -1, 64))
		of, _ := exact.Quo(exact, big.NewRat(100, 1)).Float64() // x/100 may be a little less: 0.7/100
		shares = append(shares, share{given, of})
	}
	if flag != "sweep" && len(shares) > 1 {
		return nil, usage("-%s is %q, must be one percentage", flag, list)
	}
	return shares, nil
}

// policiesAndFiles divides the arguments: what is a policy comes first.
func policiesAndFiles(args []string) (policies []weir.Policy, files []string, err error) {
	for _, arg := range args {
		p, err := explain.Parse(arg)
		switch {
		case err == nil && files == nil:
			policies = append(policies, p)
		case err == nil && !exists(arg):
			return nil, nil, usage("%q is no file, and a policy must be before all files", arg)
		case files != nil || arg == "-" || exists(arg):
			files = append(files, arg)
		default:
			return nil, nil, usage("%q is no file, and no policy either: %w", arg, err)
		}
	}
	if policies == nil {
		return nil, nil, usage("replay needs a POLICY before the FILE, such as 300/1m or 'all(5/1s, 60/1m)'")
	}
	if files == nil {
		files = []string{"-"}
	}
	return policies, files, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
