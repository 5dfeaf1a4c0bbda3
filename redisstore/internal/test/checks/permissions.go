package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// These rules are the permissions of a user that is made as docs/redis.md says.
const (
	UserRules    = "on >password ~weir:1:* -@all +evalsha +eval +del +get +set +getrange +setrange +pexpire +time"
	PingRule     = "+ping"                  // rueidis and valkey-go ask if a connection is alive
	ClusterRules = "+cluster|slots +asking" // in addition, in a Cluster
	CommandRule  = "+command"               // go-redis asks where a command has its key
)

// Permissions checks that a user called weir with the password "password", who has those rules and
// no other, can decide by every policy, and that the server refuses nothing. open makes a store for
// that user. The documentation must have the rules, in the commands that make such a user.
func Permissions(t *testing.T, open func(t *testing.T, addrs []string) weir.Store, nodes redistest.Nodes, rules ...string) {
	doc := docs(t)
	for _, rule := range rules {
		command := "ACL SETUSER weir " + rule
		check(t, strings.Contains(doc, command), "docs/redis.md must have %s", command)
	}
	for _, s := range nodes {
		for i, rule := range rules {
			command := []string{"ACL", "SETUSER", "weir"}
			if i == 0 {
				command = append(command, "reset")
			}
			s.MustDo(append(command, strings.Fields(rule)...)...)
		}
		s.MustDo("ACL", "LOG", "RESET")
	}
	store := open(t, nodes.Addrs())
	policies := each(10)
	policies["LeakyBucket"] = weir.LeakyBucket{Limit: 10, Per: year}
	policies["SlidingWindow, Buckets"] = weir.SlidingWindow{Limit: 10, Per: year, Buckets: 5}
	policies["All"] = weir.All(weir.TokenBucket{Limit: 10, Per: year}, weir.CalendarWindow{Limit: 20, Unit: weir.Year})
	for name, p := range policies {
		l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(name)))
		decide := func(key string) {
			for _, n := range []int{1, 2, 0, 20, 1} {
				_, err := l.Take(t.Context(), key, n)
				noError(t, err)
			}
			_, _, err := l.TakeUpTo(t.Context(), key, 5)
			noError(t, err)
			noError(t, l.Return(t.Context(), key, 1))
			_, err = l.Take(t.Context(), key, 1) // so that a state stays
			noError(t, err)
		}
		for i := range 20 { // on each node
			key := fmt.Sprint(i)
			decide(key)
			noError(t, l.Reset(t.Context(), key))
		}
		if len(nodes) > 1 {
			decide("moved")
			nodes.MoveSlot(t, "weir:1:{"+name+":moved}", func() { decide("moved") })
		}
	}
	for _, s := range nodes {
		equal(t, 0, len(s.MustDo("ACL", "LOG").([]any)), "entries of ACL LOG")
	}
}

// docs is the text of docs/redis.md.
func docs(t *testing.T) string {
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		text, err := os.ReadFile(filepath.Join(dir, "docs", "redis.md"))
		if err == nil {
			return string(text)
		}
		if root, _ := filepath.Abs(dir); root == filepath.Dir(root) {
			t.Fatal("docs/redis.md is not there")
		}
	}
}
