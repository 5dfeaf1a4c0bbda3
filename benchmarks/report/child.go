package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/weir-go/weir/benchmarks"
)

// childArg is the argument by which the command tells itself to be the process of one measurement.
const childArg = "measure-one"

// A job is one measurement: what such a process reads. It answers with the metrics. Both are JSON.
type job struct {
	Group, Contender string
	Settings         benchmarks.Settings
}

// runJob does j in a fresh process.
func runJob(j job) (benchmarks.Metrics, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, childArg)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var m benchmarks.Metrics
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, fmt.Errorf("answered %q: %w", out, err)
	}
	return m, nil
}

// serveJob is the other side of runJob.
func serveJob(in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return err
	}
	c, err := benchmarks.Find(j.Contender)
	if err != nil {
		return err
	}
	groups := benchmarks.Groups()
	i := slices.IndexFunc(groups, func(g benchmarks.Group) bool { return g.Name == j.Group })
	if i < 0 {
		return fmt.Errorf("no group %q", j.Group)
	}
	return json.NewEncoder(out).Encode(groups[i].Measure(c, j.Settings))
}
