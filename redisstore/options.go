package redisstore

import (
	"time"

	"github.com/weir-go/weir/redisstore/internal/remote"
)

// An Option configures a store that [New] makes.
type Option func(*remote.Config)

// WithPrefix sets the prefix of all keys in Redis. The default is "weir". A key is
//
//	prefix:1:{name:key}
//
// with the name of the limiter, see [weir.WithName], and the key of the request. Bytes that have a
// meaning here, or in a pattern, are written as % and two hexadecimal digits. The 1 changes when a
// release of this package cannot read the values of earlier releases.
//
// The prefix must be printable ASCII, without spaces and without the characters * ? [ ] { } % \. It
// must be the same in all processes that share limits.
func WithPrefix(prefix string) Option {
	return func(c *remote.Config) { c.Prefix = prefix }
}

// WithMaxKeyLen sets the length in bytes up to which names and keys are kept as they are. A longer
// name or key is replaced by its SHA-256. n must be at least 1; the default is 128. It must be the
// same in all processes that share limits.
func WithMaxKeyLen(n int) Option {
	return func(c *remote.Config) { c.MaxKeyLen = n }
}

// WithTimeout sets how long a decision may take. d must be above 0; the default is one second. An
// earlier deadline of the context takes precedence. When the time is over, a decision returns one
// of:
//
//   - [ErrNoReply]: the command was sent. The client may still wait for the reply.
//   - [ErrBusy]: the command was not sent.
func WithTimeout(d time.Duration) Option {
	return func(c *remote.Config) { c.Timeout = d }
}

// WithMaxInFlight sets how many commands may be in flight. n must be at least 1; the default is
// 1024. A command whose caller has given up is still in flight until the client gives it up. When
// all places are taken, callers wait for one. They get [ErrBusy] if none is free in time. This
// bounds the goroutines, memory and connections that a server without replies can take up.
//
// The farther away the server is, the more commands are in flight, up to this number. For d
// decisions a second over a round trip of t, set at least d × t. For example, 50,000 a second over
// 20 ms need 1,000.
func WithMaxInFlight(n int) Option {
	return func(c *remote.Config) { c.MaxInFlight = n }
}

// WithSingleServer declares that one server has all keys. The client connects to it directly,
// through Sentinel, or through a proxy. [New] refuses a client of several servers, such as a
// Cluster. Callers that ask for different keys while other commands are in flight then share a
// script call, too. Each gets the answer or the error that it would have got alone. docs/stores.md
// has measurements.
//
// Do not set it if a proxy divides keys between servers. If the proxy chooses the server by the
// first key of a command, the other keys are counted on the wrong server, and their limits are
// exceeded.
func WithSingleServer() Option {
	return func(c *remote.Config) { c.SingleServer = true }
}
