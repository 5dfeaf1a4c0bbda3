package casstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/casstore/registertest"
)

// A Table is a Register: rows by key, each with a revision. In Swap, a database would execute:
//
//	UPDATE … SET value = …, revision = nextval(…) WHERE key = … AND revision = …
type Table struct {
	mu       sync.Mutex
	rows     map[string]row
	revision int // the latest of all rows: none comes back after a Delete
}

type row struct {
	value    []byte
	revision int // 0 for no row
}

func (t *Table) Get(_ context.Context, key string) (casstore.Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[key]
	return casstore.Entry{Value: r.value, Version: r.revision}, nil
}

// Swap does not drop expired values. A Register in memory should do so.
func (t *Table) Swap(
	_ context.Context, key string, old casstore.Entry, value []byte, _ time.Duration,
) (casstore.Entry, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rows[key]; r.revision != old.Version {
		return casstore.Entry{Value: r.value, Version: r.revision}, false, nil
	}
	t.revision++
	t.rows[key] = row{value, t.revision}
	return casstore.Entry{Value: value, Version: t.revision}, true, nil
}

func (t *Table) Delete(_ context.Context, key string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, key)
	return nil
}

// A Register is checked by one line, with the real server. Then check the Store with package
// storetest.
func TestTable(t *testing.T) {
	t.Parallel() // it waits for values to expire
	table := &Table{rows: map[string]row{}}
	registertest.Run(t, func(*testing.T) casstore.Register { return table })
}

// A Register of three methods is enough for a Store that runs any policy.
func Example() {
	store := casstore.New(&Table{rows: map[string]row{}}, casstore.Options{})
	logins := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute}, weir.WithStore(store), weir.WithName("logins")))
	fmt.Println(logins.Allow("ada"), logins.Allow("ada"), logins.Allow("ada"))
	fmt.Println(logins.Allow("bob"))
	// Output:
	// true true false
	// true
}

func ExampleKey() {
	fmt.Println(casstore.Key("logins", "ada"))
	fmt.Println(casstore.Key("api", "2001:db8::1"))
	fmt.Println(casstore.Key("a/b", "c"), casstore.Key("a", "b/c"))
	// Output:
	// weir/1/logins/ada
	// weir/1/api/2001=3Adb8=3A=3A1
	// weir/1/a=2Fb/c weir/1/a/b=2Fc
}
