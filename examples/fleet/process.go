package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A process is a node, as its parent sees it.
type process struct {
	job
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	orders *json.Encoder
	ready  bool
	killed bool
	ending bool
	until  time.Time // of its last report
	load   float64
}

// News is a report of a process, or that it is gone.
type news struct {
	*process
	report
	gone error // how it ended, if it did
}

// errEnded is how a process ended that did so by itself, without a fault.
var errEnded = errors.New("ended")

// start starts a node, whose news go to out.
func start(j job, out chan<- news) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, nodeArg)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{job: j, cmd: cmd, stdin: stdin, orders: json.NewEncoder(stdin)}
	go p.read(stdout, out)
	return p, p.orders.Encode(j)
}

// read reads what the process reports, until it is gone.
func (p *process) read(stdout io.Reader, out chan<- news) {
	reports := json.NewDecoder(stdout)
	for {
		var r report
		if reports.Decode(&r) != nil {
			break
		}
		out <- news{process: p, report: r}
	}
	err := p.cmd.Wait()
	if err == nil {
		err = errEnded
	}
	out <- news{process: p, gone: err}
}

// setLoad tells a process how many requests a second it gets.
func (p *process) setLoad(perSecond float64) {
	if perSecond == p.load {
		return
	}
	p.load = perSecond
	_ = p.orders.Encode(load{perSecond}) // if it is gone, that is in the news
}

// kill ends a process at once, as kill -9 does.
func (p *process) kill() {
	p.killed = true
	_ = p.cmd.Process.Kill() // if it is gone already, that is in the news
}

// end asks a process to end by itself.
func (p *process) end() {
	p.ending = true
	p.stdin.Close()
}

func (p *process) String() string { return fmt.Sprintf("node %d", p.Node+1) }
