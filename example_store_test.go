package weir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// Two limiters share one store, which holds at most a million keys. The names of the limiters keep
// their keys apart.
func ExampleWithStore() {
	store := &weir.MemStore{MaxKeys: 1_000_000}
	reads := weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute},
		weir.WithStore(store), weir.WithName("reads")))
	writes := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Minute},
		weir.WithStore(store), weir.WithName("writes")))

	fmt.Println(writes.Allow("ada"), writes.Allow("ada"))
	fmt.Println(reads.Allow("ada"), reads.Allow("ada"))
	fmt.Println(store.Len(), "keys")

	// Output:
	// true false
	// true true
	// 2 keys
}

// Limiters with the same name share the allowance of a key. Here, orders come in by web and by app.
func ExampleWithName() {
	store := new(weir.MemStore)
	policy := weir.SlidingLog{Limit: 3, Per: 24 * time.Hour}
	web := weir.Must(weir.New(policy, weir.WithStore(store), weir.WithName("orders")))
	app := weir.Must(weir.New(policy, weir.WithStore(store), weir.WithName("orders")))

	fmt.Println(web.Allow("ada"), app.Allow("ada"), web.Allow("ada"), app.Allow("ada"))

	// Output: true true true false
}

// A counter is a store that counts what another store refuses. A Store can stand in front of any
// other Store, and needs to know nothing of the policies.
type counter struct {
	weir.Store
	refused atomic.Int64
}

func (c *counter) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := c.Store.Do(ctx, r)
	if err == nil && !a.Allowed {
		c.refused.Add(1)
	}
	return a, err
}

func ExampleStore() {
	store := &counter{Store: new(weir.MemStore)}
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Hour}, weir.WithStore(store)))

	for range 8 {
		limiter.Allow("ada")
	}
	fmt.Println(store.refused.Load(), "were refused")

	// Output: 3 were refused
}

// saveLimits replaces the file at path as a whole. If it fails, the file stays as it was.
func saveLimits(store *weir.MemStore, path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // does nothing after the rename
	if err := errors.Join(store.Save(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// loadLimits loads what saveLimits has saved. Before the first save there is no file.
func loadLimits(store *weir.MemStore, path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return store.Load(file)
}

// A process saves its limits when it stops, and the next one goes on with them. If the next process
// cannot load them, it logs the error and starts with an empty store: a Load that fails changes
// nothing in the store.
func ExampleMemStore_Save() {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "limits")

	for range 2 { // processes
		store := new(weir.MemStore)
		if err := loadLimits(store, path); err != nil {
			fmt.Println("limits start anew:", err)
		}
		logins := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Hour},
			weir.WithStore(store), weir.WithName("logins")))

		fmt.Println(logins.Allow("ada"), logins.Allow("ada"), logins.Allow("ada"))

		if err := saveLimits(store, path); err != nil { // after the last request
			fmt.Println(err)
		}
	}

	// Output:
	// true true true
	// true true false
}
