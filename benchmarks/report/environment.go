package main

import (
	"cmp"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Environment is where and with what a run was made.
type Environment struct {
	Date     string
	CPU      string
	Cores    int
	System   string
	Go       string
	Revision string            // of weir; empty if not known
	Versions map[string]string // of modules
}

func environment(now time.Time) Environment {
	return Environment{
		Date:     now.UTC().Format(time.DateOnly),
		CPU:      cmp.Or(cpu(), "unknown CPU"),
		Cores:    runtime.GOMAXPROCS(0),
		System:   runtime.GOOS + "/" + runtime.GOARCH,
		Go:       runtime.Version(),
		Revision: revision(),
		Versions: versions(),
	}
}

// cpu is the processor's name, if the system tells it in a known way.
func cpu() string {
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// revision is the commit of weir, with a plus if files differ from it.
func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	revision := strings.TrimSpace(string(out))
	if changed, err := exec.Command("git", "status", "--porcelain", "--", "*.go").Output(); err != nil || len(changed) > 0 {
		revision += "+"
	}
	return revision
}

func versions() map[string]string {
	v := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			v[m.Path] = m.Version
		}
	}
	return v
}
