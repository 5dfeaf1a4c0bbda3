package redistest

import (
	"fmt"
	"strings"
	"testing"
)

// Watched is a master with replicas, and the sentinels that promote one of them if it is lost.
type Watched struct {
	Name      string // by which the sentinels know the master
	Nodes     Nodes
	Sentinels Nodes
}

// downAfter is after how many milliseconds of silence a sentinel takes a server for lost, when one
// is.
const downAfter = 1000

// Sentinel starts a master with two replicas, and three sentinels of which two must agree that the
// master is lost. It returns when all know each other.
func Sentinel(tb testing.TB, config ...string) Watched {
	tb.Helper()
	w := Watched{Name: "weir"}
	for i := range 3 {
		w.Nodes = append(w.Nodes, &Server{tb: tb, name: fmt.Sprintf("node %d", i), config: config})
	}
	start(tb, w.Nodes...)
	master := w.Nodes[0]
	for _, s := range w.Nodes[1:] {
		s.MustDo("REPLICAOF", "127.0.0.1", fmt.Sprint(master.port.Number))
	}
	for _, s := range w.Nodes {
		await(tb, fmt.Sprintf("%v to follow", s), s.follows)
	}
	for i := range 3 {
		w.Sentinels = append(w.Sentinels, &Server{tb: tb, name: fmt.Sprintf("sentinel %d", i), sentinel: true, config: []string{
			fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", w.Name, master.port.Number),
			fmt.Sprintf("sentinel down-after-milliseconds %s %d", w.Name, late),
			fmt.Sprintf("sentinel failover-timeout %s 5000", w.Name),
		}})
	}
	start(tb, w.Sentinels...)
	for _, s := range w.Sentinels {
		// By default they ask every 10 s, and tell of themselves every 2 s.
		s.MustDo("SENTINEL", "DEBUG", "info-period", "200", "publish-period", "200")
	}
	for _, s := range w.Sentinels {
		await(tb, fmt.Sprintf("%v to know the others", s), func() bool { return s.knows(w.Name, 2, 2) })
	}
	return w
}

// knows reports whether a sentinel knows as many replicas and other sentinels, and all to be well.
func (s *Server) knows(name string, replicas, sentinels int) bool {
	for _, ask := range []struct {
		what string
		want int
	}{{"replicas", replicas}, {"sentinels", sentinels}} {
		reply, _ := s.Do("SENTINEL", ask.what, name)
		list, ok := reply.([]any)
		if !ok || len(list) != ask.want || strings.Contains(fmt.Sprint(list), "s_down") {
			return false
		}
	}
	return true
}

// Master is the server that most sentinels take for the master; nil if they do not agree, or it is
// not up.
func (w Watched) Master() *Server {
	votes := map[string]int{}
	for _, s := range w.Sentinels {
		if reply, err := s.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", w.Name); err == nil {
			votes[strings.Join(strings.Fields(strings.Trim(fmt.Sprint(reply), "[]")), ":")]++
		}
	}
	for _, s := range w.Nodes.Masters() {
		if votes[s.Addr()] > len(w.Sentinels)/2 {
			return s
		}
	}
	return nil
}

// AwaitPromoted waits until the master is another than lost, and returns it. Before it is called,
// no replica is promoted.
func (w Watched) AwaitPromoted(lost *Server) *Server {
	lost.tb.Helper()
	for _, s := range w.Sentinels {
		s.MustDo("SENTINEL", "SET", w.Name, "down-after-milliseconds", fmt.Sprint(downAfter))
	}
	var master *Server
	await(lost.tb, "a replica to be promoted", func() bool {
		master = w.Master()
		return master != nil && master != lost
	})
	return master
}
