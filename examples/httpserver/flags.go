package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weir-go/weir/httplimit"
)

// options is the command line.
type options struct {
	addr    string
	redis   string         // its address; empty for none
	state   string         // the file that keeps the limits while no server runs; empty for none
	trusted []netip.Prefix // proxies
	level   slog.Level     // from which on is logged
}

// parse reads the command line. An error names the value and what is allowed. Asked for help, it
// writes the usage to help and returns flag.ErrHelp.
func parse(args []string, help io.Writer) (options, error) {
	o := options{addr: "127.0.0.1:8080"}
	fs := flag.NewFlagSet("httpserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("addr", "listen at `host:port` (default 127.0.0.1:8080)", setAddr(&o.addr, "127.0.0.1:8080 or :8080"))
	fs.Func("redis", "share the limits with all servers that use the Redis at `host:port`", setAddr(&o.redis, "127.0.0.1:6379"))
	fs.StringVar(&o.state, "state", "", "keep the limits in this `file` while no server runs")
	fs.Func("trust", "believe the X-Forwarded-For of proxies in these `prefixes`, such as 10.0.0.0/8,::1/128", o.setTrusted)
	fs.Func("log", "`level`: info logs every decision, warn those that deny, error failures only (default info)", o.setLevel)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(help, "Usage: httpserver [flags]\n\nServes a few endpoints, each with a limit of its own kind.\n\n")
		fs.SetOutput(help)
		fs.PrintDefaults()
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("arguments %q, must be none", fs.Args())
	}
	return o, err
}

// clientIP finds the address of a request's client.
func (o *options) clientIP() httplimit.KeyFunc {
	if len(o.trusted) == 0 {
		return httplimit.RemoteIP
	}
	return httplimit.ForwardedIP(o.trusted...)
}

func setAddr(addr *string, example string) func(string) error {
	return func(s string) error {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return errors.New("must be host:port with a port from 0 to 65535, such as " + example)
		}
		*addr = s
		return nil
	}
}

func (o *options) setTrusted(s string) error {
	o.trusted = nil
	for field := range strings.SplitSeq(s, ",") {
		p, err := netip.ParsePrefix(field)
		if err != nil {
			return errors.New("must be prefixes of addresses with commas between them, such as 10.0.0.0/8,::1/128")
		}
		o.trusted = append(o.trusted, p)
	}
	return nil
}

func (o *options) setLevel(s string) error {
	levels := map[string]slog.Level{"info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[s]
	if !ok {
		return errors.New("must be info, warn or error")
	}
	o.level = level
	return nil
}
