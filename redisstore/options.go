package redisstore

import (
	"time"

	"github.com/weir-go/weir/redisstore/internal/remote"
)

// An Option changes a store that [New] makes.
type Option func(*remote.Config)

// WithPrefix sets what all keys in Redis begin with; "weir" if not given. A key is
//
//	prefix:1:{name:key}
//
// with the name of the limiter, see [weir.WithName], and the key that it was asked for. Bytes of them that
// have a meaning there, or in a pattern, are written as % and two hexadecimal digits. The 1 changes
// when a release of this package can't read what those before have left.
//
// The prefix must be of printable ASCII, without spaces and the characters * ? [ ] { } % \, and the same for
// all who share limits.
func WithPrefix(prefix string) Option {
	return func(c *remote.Config) { c.Prefix = prefix }
}

// WithMaxKeyLen sets how long a key is kept as it is, in bytes, at least 1; 128 if not given. In place of
// a longer one, or of a longer name, stands its SHA-256. It must be the same for all who share limits.
func WithMaxKeyLen(n int) Option {
	return func(c *remote.Config) { c.MaxKeyLen = n }
}

// WithTimeout sets how long a decision may take, above 0; a second if not given. A deadline of the context that
// comes earlier counts. One that is over returns [ErrNoReply] while the client may still wait, or
// [ErrBusy] if the command was not even sent.
func WithTimeout(d time.Duration) Option {
	return func(c *remote.Config) { c.Timeout = d }
}

// WithMaxInFlight sets how many commands may be in flight, at least 1; 1024 if not given. A command whose caller has
// given up counts until the client gives it up, too. When all places are taken, callers wait for one. They get
// [ErrBusy] if none is free in time. A Redis that does not reply costs no more than that, in goroutines and connections.
//
// The farther away Redis is, the more commands are in flight, up to this number, and up to 64 for each
// connection of the pool. For d decisions a second over a
// round trip of t set at least d × t: 50,000 a second over 20 ms need 1,000.
func WithMaxInFlight(n int) Option {
	return func(c *remote.Config) { c.MaxInFlight = n }
}

// WithSingleServer tells that one server has all keys, and that the client, which must be a *[redis.Client], speaks
// to it: directly, by Sentinel, or through a proxy. Where others' commands are under way, callers who ask for
// different keys then share a script call, too; how much that saves is in docs/stores.md. Each gets the
// answer or the error that it would have got alone.
//
// Don't set it where a proxy divides keys between servers: one that goes by the first key of a command would have
// the others counted on a server that is not theirs, and so more granted than their limit.
func WithSingleServer() Option {
	return func(c *remote.Config) { c.SingleServer = true }
}
