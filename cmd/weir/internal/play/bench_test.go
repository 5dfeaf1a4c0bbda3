package play

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The time from the start of a built command until its page shows all of an experiment, in a
// browser that is open. With a warm cache the command has served the page before. With a cold one
// it builds the programs of the page, from packages that the go command has compiled.
func BenchmarkFirstPage(bench *testing.B) {
	b := open(bench)
	command := filepath.Join(bench.TempDir(), "weir")
	out, err := exec.Command("go", "build", "-o", command, "github.com/weir-go/weir/cmd/weir").CombinedOutput()
	require.NoError(bench, err, string(out))
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(bench, err)
	cache := bench.TempDir()
	show := func() {
		cmd := exec.Command(command, "play", "-addr", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "GOCACHE="+strings.TrimSpace(string(goCache)))
		stdout, err := cmd.StdoutPipe()
		require.NoError(bench, err)
		require.NoError(bench, cmd.Start())
		line, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(bench, err)
		b.origin = strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "The playground is at ")), "/")
		b.visit("")
		bench.StopTimer()
		require.NoError(bench, cmd.Process.Signal(os.Interrupt))
		require.NoError(bench, cmd.Wait())
		bench.StartTimer()
	}
	bench.Run("cold", func(bench *testing.B) {
		for bench.Loop() {
			bench.StopTimer()
			cache = bench.TempDir()
			bench.StartTimer()
			show()
		}
	})
	bench.Run("warm", func(bench *testing.B) {
		for bench.Loop() {
			show()
		}
	})
}

// Four lanes at 2,000 requests a second each, in a browser that draws in software: the frame rate,
// the time that a frame takes in scripts and in all, and how many decisions there are in a second
// without drawing.
func BenchmarkFrames(bench *testing.B) {
	b := open(bench)
	b.call("Performance.enable", nil, nil)
	seconds := func() map[string]float64 {
		var reply struct {
			Metrics []struct {
				Name  string
				Value float64
			}
		}
		b.call("Performance.getMetrics", nil, &reply)
		all := make(map[string]float64)
		for _, m := range reply.Metrics {
			all[m.Name] = m.Value
		}
		return all
	}
	lanes := strings.Repeat("p=1000/1s&p=sliding-window+1000/1s&", 2)
	for bench.Loop() {
		b.visit(lanes + "r=2000&t=6s")
		var decisions float64
		b.js(&decisions, `(async () => {
			const start = performance.now(), { load } = await weirPlay.load(%s);
			await weirPlay.advance(20e9, load);
			return 4 * 40000 / (performance.now() - start) * 1000;
		})()`, quoted(lanes+"r=2000&t=20s"))
		bench.ReportMetric(decisions, "decisions/s")
		b.visit(lanes + "r=2000&t=6s")
		before := seconds()
		var frames, took float64
		b.js(&frames, `new Promise((ok) => {
			window.took = 0;
			const start = performance.now(), until = start + 5000;
			let n = 0;
			document.getElementById("play").click();
			const count = (now) => { n++; took = now - start; now < until ? requestAnimationFrame(count) : ok(n); };
			requestAnimationFrame(count);
		})`)
		b.js(&took, `took`)
		after := seconds()
		bench.ReportMetric(frames*1000/took, "frames/s")
		bench.ReportMetric((after["ScriptDuration"]-before["ScriptDuration"])*1000/frames, "ms-script/frame")
		bench.ReportMetric((after["TaskDuration"]-before["TaskDuration"])*1000/frames, "ms/frame")
	}
}
