package benchmarks

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// one is a limiter that knows no keys. Each key gets one, in a map.
type one interface{ Allow() bool }

// inMutexMap is a map with one lock, the way that most documentations show.
type inMutexMap[T one] struct {
	mu  sync.Mutex
	m   map[string]T
	new func() T
}

func mutexMap[T one](make1 func(Quota) T) func(Quota) Limiter {
	return func(q Quota) Limiter {
		return &inMutexMap[T]{m: make(map[string]T), new: func() T { return make1(q) }}
	}
}

func (m *inMutexMap[T]) Allow(key string) bool {
	m.mu.Lock()
	l, ok := m.m[key]
	if !ok {
		l = m.new()
		m.m[key] = l
	}
	m.mu.Unlock()
	return l.Allow()
}

// inSyncMap is a sync.Map.
type inSyncMap[T one] struct {
	m   sync.Map
	new func() T
}

func syncMap[T one](make1 func(Quota) T) func(Quota) Limiter {
	return func(q Quota) Limiter {
		return &inSyncMap[T]{new: func() T { return make1(q) }}
	}
}

func (m *inSyncMap[T]) Allow(key string) bool {
	l, ok := m.m.Load(key)
	if !ok {
		l, _ = m.m.LoadOrStore(key, m.new())
	}
	return l.(T).Allow()
}

// inXsyncMap is a concurrent map that is made for speed.
type inXsyncMap[T one] struct {
	m   *xsync.Map[string, T]
	new func() (T, bool)
}

func xsyncMap[T one](make1 func(Quota) T) func(Quota) Limiter {
	return func(q Quota) Limiter {
		return &inXsyncMap[T]{
			m:   xsync.NewMap[string, T](),
			new: func() (T, bool) { return make1(q), false },
		}
	}
}

func (m *inXsyncMap[T]) of(key string) T {
	l, ok := m.m.Load(key)
	if !ok {
		l, _ = m.m.LoadOrCompute(key, m.new)
	}
	return l
}

func (m *inXsyncMap[T]) Allow(key string) bool { return m.of(key).Allow() }
