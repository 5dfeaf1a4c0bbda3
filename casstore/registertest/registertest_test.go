package registertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
)

func TestMain(m *testing.M) { runs.Main(m) }

// A memory is a Register in memory, which can break each rule.
type memory struct {
	mu      *sync.Mutex
	rows    map[string]row
	version *int

	quiet   bool                              // Swap does not tell what the key holds
	bytes   bool                              // it compares values in place of versions
	counts  bool                              // versions begin anew with each row
	loses   bool                              // it does not compare
	never   bool                              // it never swaps
	torn    bool                              // it compares in one step and replaces in another
	stale   map[string]row                    // if not nil: where it reads, which lags behind
	wrong   bool                              // it tells the old value
	keeps   bool                              // Delete does nothing
	missing bool                              // Delete of no value is an error
	lower   bool                              // keys are the same in lower case
	most    int                               // bytes of a key, if not 0
	room    int                               // the longest value, if not 0
	dots    bool                              // a dot in a key is an underscore
	text    bool                              // values end at a zero byte
	first   bool                              // a key lives for as long as its first value was to
	hides   bool                              // Get leaves out expired values, and Swap does not replace them
	shares  bool                              // Get returns the bytes that it has
	writes  bool                              // Swap writes to the value that it is given
	marks   bool                              // a deleted key has a Version, until a Swap of it
	halves  func(time.Duration) time.Duration // how long it keeps a value
	deaf    chan struct{}                     // calls with an ended context wait for it
	fails   error
}

type row struct {
	value   []byte
	version int
	expires time.Time // zero for never
}

func newMemory(b memory) *memory {
	b.mu, b.rows, b.version = new(sync.Mutex), map[string]row{}, new(int)
	return &b
}

func (m *memory) call(ctx context.Context, key string) (string, error) {
	if ctx.Err() != nil {
		if m.deaf != nil {
			<-m.deaf
		}
		return key, ctx.Err()
	}
	if m.lower {
		key = strings.ToLower(key)
	}
	if m.most > 0 {
		key = key[:min(len(key), m.most)]
	}
	if m.dots {
		key = strings.ReplaceAll(key, ".", "_")
	}
	return key, m.fails
}

func (m *memory) row(rows map[string]row, key string) row {
	if r := rows[key]; r.expires.IsZero() || time.Now().Before(r.expires) {
		return r
	}
	return row{}
}

func (m *memory) Get(ctx context.Context, key string) (casstore.Entry, error) {
	key, err := m.call(ctx, key)
	if err != nil {
		return casstore.Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := m.rows
	if m.stale != nil {
		rows = m.stale
	}
	r := m.row(rows, key)
	if !m.shares {
		r.value = bytes.Clone(r.value)
	}
	return casstore.Entry{Value: r.value, Version: r.version}, nil
}

func (m *memory) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	key, err := m.call(ctx, key)
	if err != nil {
		return casstore.Entry{}, false, err
	}
	if m.room > 0 && len(value) > m.room {
		return casstore.Entry{}, false, fmt.Errorf("%d bytes at most: %w", m.room, weir.ErrRequest)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.row(m.rows, key)
	if m.hides {
		r = m.rows[key]
	}
	if m.marks && len(r.value) == 0 && r.version != 0 {
		delete(m.rows, key)
		r = row{}
	}
	same := r.version == old.Version
	if m.bytes {
		same = bytes.Equal(r.value, old.Value)
	}
	if m.torn {
		m.mu.Unlock()
		time.Sleep(time.Millisecond)
		m.mu.Lock()
	}
	if !same && !m.loses || m.never {
		return casstore.Entry{Value: bytes.Clone(r.value), Version: r.version}, false, nil
	}
	if m.stale != nil {
		maps.Copy(m.stale, m.rows)
	}
	before := r.value
	*m.version++
	r.version = *m.version
	if m.counts {
		r.version = m.row(m.rows, key).version + 1
	}
	if m.shares && len(r.value) == len(value) {
		copy(r.value, value)
	} else {
		r.value = bytes.Clone(value)
	}
	if m.text {
		r.value, _, _ = bytes.Cut(r.value, []byte{0})
	}
	if m.writes {
		value[0]++
	}
	ends := r.expires
	r.expires = time.Time{}
	if m.halves != nil {
		keep = m.halves(keep)
	}
	if keep != weir.Never {
		r.expires = time.Now().Add(keep)
	}
	if m.first && before != nil {
		r.expires = ends
	}
	m.rows[key] = r
	switch {
	case m.quiet:
		return casstore.Entry{}, true, nil
	case m.wrong:
		return casstore.Entry{Value: before, Version: r.version}, true, nil
	}
	return casstore.Entry{Value: bytes.Clone(r.value), Version: r.version}, true, nil
}

func (m *memory) Delete(ctx context.Context, key string) error {
	key, err := m.call(ctx, key)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.rows[key]; !ok && m.missing {
		return errors.New("no row")
	}
	if !m.keeps {
		delete(m.rows, key)
	}
	if m.marks {
		*m.version++
		m.rows[key] = row{version: *m.version}
	}
	return nil
}

func TestRegistersThatKeepTheRules(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]memory{
		"tells": {}, "does not tell": {quiet: true}, "compares values": {bytes: true}, "marks what is deleted": {marks: true},
		"has no room for long values": {room: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for values to expire
			m := newMemory(b)
			Run(t, func(*testing.T) casstore.Register { return m })
		})
	}
}

// Each rule is broken by a Register that keeps the others as far as it can, and a case finds it.
func TestRegistersThatBreakARule(t *testing.T) {
	t.Parallel()
	deaf := make(chan struct{})
	t.Cleanup(func() { close(deaf) }) // when all subtests have ended
	for name, c := range map[string]struct {
		memory
		fails, says string
	}{
		"does not compare":                {memory{loses: true}, "Model", "Swap succeeds with an Entry of"},
		"does not compare, in a race":     {memory{loses: true}, "Race", "one at most may"},
		"never swaps":                     {memory{never: true}, "Model", "does not succeed, and the key has not changed"},
		"never swaps, in a race":          {memory{never: true}, "Race", "no Swap of 8 succeeds"},
		"swaps in two steps":              {memory{torn: true}, "Race", "one at most may"},
		"reads from a replica":            {memory{stale: map[string]row{}}, "Model", "the key holds"},
		"tells the value before":          {memory{wrong: true}, "Model", "it returns a wrong Entry"},
		"does not delete":                 {memory{keeps: true}, "Delete", "after a Delete: a Get"},
		"deletes only what is there":      {memory{missing: true}, "Delete", "no row"},
		"begins anew with each row":       {memory{counts: true}, "Delete", "its Version has come back"},
		"has keys without case":           {memory{lower: true}, "Keys", "the key holds"},
		"cuts off keys":                   {memory{most: 199}, "Keys", "the key holds"},
		"has keys without dots":           {memory{dots: true}, "Keys", "the key holds"},
		"has values of text":              {memory{text: true}, "Values", "the key holds"},
		"returns the bytes that it has":   {memory{shares: true}, "Values", "after Get has returned it"},
		"writes to what it is given":      {memory{writes: true}, "Values", "Swap changes the value"},
		"keeps for a minute at most":      {memory{halves: func(k time.Duration) time.Duration { return min(k, time.Minute) / 1e6 }}, "Keep", "the key holds"},
		"keeps for half as long":          {memory{halves: func(k time.Duration) time.Duration { return k / 2 }}, "Keep", "the key holds no value"},
		"keeps for whole seconds":         {memory{halves: wholeSeconds}, "Keep", "the key holds no value"},
		"keeps for as long as at first":   {memory{first: true}, "Keep", "the key holds no value"},
		"keeps as at first, rounded up":   {memory{first: true, halves: upToSeconds}, "Keep", "the key holds no value"},
		"has no room for values":          {memory{room: 10}, "Values", "10 bytes at most"},
		"hides what has expired":          {memory{hides: true}, "Keep", "in each of 100 attempts"},
		"keeps for half, after a pause":   {memory{halves: halvesAfterAPause()}, "Keep", "the key holds no value"},
		"waits although nobody else does": {memory{deaf: deaf}, "Contexts", "has not returned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for values to expire
			err := alone(t, c.fails, newMemory(c.memory))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
		})
	}
}

// wholeSeconds rounds down to seconds, of which there is one at least.
func wholeSeconds(keep time.Duration) time.Duration {
	return max(keep.Truncate(time.Second), time.Second)
}

func upToSeconds(keep time.Duration) time.Duration {
	return min(keep, weir.Never-time.Second) + time.Second - 1 - (keep-1)%time.Second
}

// halvesAfterAPause keeps values for half as long. At the first one that expires soon, the machine
// is busy until all its time has passed.
func halvesAfterAPause() func(time.Duration) time.Duration {
	var once sync.Once
	return func(keep time.Duration) time.Duration {
		if keep < time.Second {
			once.Do(func() { time.Sleep(keep) })
		}
		return keep / 2
	}
}

// No case is so empty that a Register which always fails passes it.
func TestEveryCaseCanFail(t *testing.T) {
	for _, c := range cases {
		assert.Error(t, alone(t, c.name, newMemory(memory{fails: errors.New("down")})), c.name)
	}
}

// alone runs one case.
func alone(t *testing.T, name string, r casstore.Register) error {
	t.Helper()
	i := slices.IndexFunc(cases, func(c testCase) bool { return c.name == name })
	require.GreaterOrEqual(t, i, 0)
	e := newEnv(t.Context(), r, r)
	e.patience = 50 * time.Millisecond
	return cases[i].run(e)
}
