package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Nodes are the servers of a Cluster, or those that sentinels watch.
type Nodes []*Server

// Addrs are the addresses of all of them.
func (n Nodes) Addrs() []string {
	addrs := make([]string, len(n))
	for i, s := range n {
		addrs[i] = s.Addr()
	}
	return addrs
}

// The nodes of a Cluster give a node up after so many milliseconds of silence. While a Cluster
// starts, or is to promote a replica, that is soon: a replica is promoted about a second later.
// Else it is late, because no node is lost on a machine that stands still for a while.
const soon, late = 1500, 600_000

const slots = 16384

// Cluster starts a Redis Cluster: three masters, which share the slots evenly, and a replica of
// each. It returns when all nodes agree on that and all replicas follow their masters.
func Cluster(tb testing.TB, config ...string) Nodes {
	tb.Helper()
	config = append([]string{
		"cluster-enabled yes",
		"cluster-port " + busPort,
		fmt.Sprintf("cluster-node-timeout %d", soon),
		"cluster-replica-validity-factor 0",
		"cluster-allow-replica-migration no",
		"repl-ping-replica-period 1", // a Cluster lists no replica that has received nothing yet
	}, config...)
	nodes := make(Nodes, 6)
	for i := range nodes {
		nodes[i] = &Server{tb: tb, name: fmt.Sprintf("node %d", i), config: config}
	}
	start(tb, nodes...)

	masters, replicas := nodes[:3], nodes[3:]
	for i, s := range nodes {
		s.MustDo("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
		if i < len(masters) {
			first, after := i*slots/len(masters), (i+1)*slots/len(masters)
			s.MustDo("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(after-1))
		}
		for _, other := range nodes[:i] { // all pairs: gossip alone would take seconds
			s.MustDo("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.port.Number), fmt.Sprint(other.bus.Number))
		}
	}
	for i, s := range replicas {
		id := masters[i].MustDo("CLUSTER", "MYID").(string)
		await(tb, fmt.Sprintf("%v to know %v", s, masters[i]), func() bool {
			_, err := s.Do("CLUSTER", "REPLICATE", id)
			return err == nil
		})
	}
	nodes.AwaitReplicas(tb)
	return nodes
}

// giveUp sets when the nodes that are up give others up.
func (n Nodes) giveUp(after int) {
	for _, s := range n {
		if !s.silent {
			s.MustDo("CONFIG", "SET", "cluster-node-timeout", fmt.Sprint(after))
		}
	}
}

// joined reports whether s sees the whole Cluster as it is to be, and, if a replica, follows.
func (s *Server) joined() bool {
	shards, _ := s.Do("CLUSTER", "SLOTS")
	list, ok := shards.([]any)
	if !ok || !s.well() {
		return false
	}
	for _, shard := range list { // first and last slot of a run, the master, the replica
		if shard, ok := shard.([]any); !ok || len(shard) != 4 {
			return false
		}
	}
	return s.follows()
}

// well reports whether s serves its part of the Cluster: it knows of a master for each slot.
func (s *Server) well() bool {
	info, _ := s.Do("CLUSTER", "INFO")
	return strings.Contains(fmt.Sprint(info), "cluster_state:ok")
}

// follows reports whether s, if it is a replica, is in step with its master.
func (s *Server) follows() bool {
	role, _ := s.role()
	return len(role) > 0 && (role[0] != "slave" || role[3] == "connected")
}

// role is the answer of ROLE: "master" or "slave" first.
func (s *Server) role() ([]any, error) {
	reply, err := s.Do("ROLE")
	role, _ := reply.([]any)
	return role, err
}

// Masters returns the servers that are up and take themselves for masters.
func (n Nodes) Masters() Nodes { return n.withRole("master") }

// Replicas returns the servers that are up and take themselves for replicas.
func (n Nodes) Replicas() Nodes { return n.withRole("slave") }

func (n Nodes) withRole(name string) Nodes {
	return slices.DeleteFunc(slices.Clone(n), func(s *Server) bool {
		if s.silent {
			return true
		}
		role, _ := s.role()
		return len(role) == 0 || role[0] != name
	})
}

// MoveSlot moves the slot of a key from the master that has it to each of the others in turn, and
// to the first again. It calls during three times for each move: when the move has begun, when the
// keys are with the new master, to which the old one then points, and when both know that the new
// master has the slot. All nodes know of a move before the next one begins. Otherwise the next
// master could take the slot by an epoch that another master has, too, and the two would point to
// each other.
func (n Nodes) MoveSlot(tb testing.TB, key string, during func()) {
	tb.Helper()
	masters := n.Masters()
	i := slices.IndexFunc(masters, func(s *Server) bool {
		v, err := s.Do("EXISTS", key)
		return err == nil && v == int64(1)
	})
	if i < 0 {
		tb.Fatalf("no master has the key %q", key)
	}
	from := masters[i]
	slot := fmt.Sprint(from.MustDo("CLUSTER", "KEYSLOT", key))
	for _, to := range append(slices.DeleteFunc(masters, func(s *Server) bool { return s == from }), from) {
		toID, fromID := to.MustDo("CLUSTER", "MYID").(string), from.MustDo("CLUSTER", "MYID").(string)
		to.MustDo("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
		from.MustDo("CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
		during()
		host, port, _ := strings.Cut(to.Addr(), ":")
		for _, key := range from.MustDo("CLUSTER", "GETKEYSINSLOT", slot, "1000").([]any) { // others share it, maybe
			from.MustDo("MIGRATE", host, port, key.(string), "0", "5000")
		}
		during()
		to.MustDo("CLUSTER", "SETSLOT", slot, "NODE", toID)
		from.MustDo("CLUSTER", "SETSLOT", slot, "NODE", toID)
		during()
		for _, s := range n {
			await(tb, fmt.Sprintf("%v to know that slot %s is with %v", s, slot, to), func() bool { return s.masterOf(slot) == toID })
		}
		from = to
	}
}

// masterOf is the identity of the node that, to the knowledge of s, has the slot.
func (s *Server) masterOf(slot string) string {
	number, _ := strconv.ParseInt(slot, 10, 64)
	shards, _ := s.Do("CLUSTER", "SLOTS")
	list, _ := shards.([]any)
	for _, shard := range list { // first and last slot of a run, then the nodes, the master first: address, port, identity
		shard := shard.([]any)
		if shard[0].(int64) <= number && number <= shard[1].(int64) {
			return shard[2].([]any)[2].(string)
		}
	}
	return ""
}

// AwaitPromoted waits until a Cluster that lost a master has three again, and they serve all slots.
// Before it is called, no replica is promoted.
func (n Nodes) AwaitPromoted(tb testing.TB) {
	tb.Helper()
	n.giveUp(soon)
	await(tb, "a replica to be promoted", func() bool {
		masters := n.Masters()
		return len(masters) == 3 && !slices.ContainsFunc(masters, func(s *Server) bool { return !s.well() })
	})
}

// AwaitReplicas waits until each master of a Cluster has a replica again, in step with it.
func (n Nodes) AwaitReplicas(tb testing.TB) {
	tb.Helper()
	for _, s := range n {
		await(tb, fmt.Sprintf("%v to take its part again", s), s.joined)
	}
	n.giveUp(late)
}

// AwaitReplicated waits until all replicas of the master s have what it holds now. Later states may
// not be replicated: a master answers first and replicates then, and a crash in between loses
// states that it has answered.
func (s *Server) AwaitReplicated(replicas int) {
	s.tb.Helper()
	role, err := s.role()
	if err != nil || role[0] != "master" {
		s.tb.Fatalf("%v: %v %v, must be a master", s, role, err)
	}
	held := role[1].(int64)
	await(s.tb, "replication", func() bool {
		role, _ := s.role()
		has := 0
		for _, replica := range role[2].([]any) { // host, port, offset
			offset, _ := strconv.ParseInt(replica.([]any)[2].(string), 10, 64)
			if offset >= held {
				has++
			}
		}
		return has >= replicas
	})
}

// await waits until done. Since it asks servers, which takes some time of the processors each time,
// it asks less often the longer it has waited.
func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(patience); !done(); time.Sleep(pause) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s", patience, what)
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}
