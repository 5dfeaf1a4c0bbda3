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
// The prefix must have no spaces, and none of the characters * ? [ ] { } % \.
func WithPrefix(prefix string) Option {
	return func(c *remote.Config) { c.Prefix = prefix }
}

// WithMaxKeyLen sets how many bytes of a key are kept; 128 if not given. In place of longer ones, and of
// longer names, stands their SHA-256.
func WithMaxKeyLen(n int) Option {
	return func(c *remote.Config) { c.MaxKeyLen = n }
}

// WithTimeout sets how long a decision may take; a second if not given. A deadline of the context that
// comes earlier counts. One that is over returns [ErrNoReply] while the client may still wait, or
// [ErrBusy] if the command was not even sent.
func WithTimeout(d time.Duration) Option {
	return func(c *remote.Config) { c.Timeout = d }
}

// WithMaxInFlight sets how many commands may be under way; 1024 if not given. Those for which nobody waits any
// more are among them. Who comes when there are as many waits, and gets [ErrBusy] when its time is
// over. So a Redis that does not reply costs no more than that, in goroutines and in connections.
func WithMaxInFlight(n int) Option {
	return func(c *remote.Config) { c.MaxInFlight = n }
}
