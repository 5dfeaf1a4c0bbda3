package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"
)

// environment is where and with what the report was made.
type environment struct {
	date, cpu, redis, revision string
	load                       string            // of the machine before, as far as known
	versions                   map[string]string // of modules
}

func newEnvironment(now time.Time, redis string) environment {
	e := environment{date: now.UTC().Format(time.DateOnly), cpu: "unknown CPU", redis: redis, versions: map[string]string{}}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				e.cpu = strings.TrimSpace(value)
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		e.load, _, _ = strings.Cut(string(load), " ")
	}
	e.revision = revision()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			e.versions[m.Path] = m.Version
		}
	}
	return e
}

// revision returns the commit of weir, with a plus if code has changed since. It is empty if not
// known.
func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	revision := strings.TrimSpace(string(out))
	if changed, err := exec.Command("git", "status", "--porcelain", "--", "*.go", "*.lua").Output(); err != nil || len(changed) > 0 {
		revision += "+"
	}
	return revision
}
