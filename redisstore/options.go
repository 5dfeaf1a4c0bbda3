package redisstore

import (
	"time"

	"github.com/weir-go/weir/redisstore/internal/remote"
)

// Options determine how a [Store] behaves. The zero value of every field is a good default.
type Options struct {
	// Prefix is the prefix of all keys in Redis. If empty, it is "weir". A key is
	//
	//	prefix:1:{name:key}
	//
	// Here name is the name of the limiter, see [weir.WithName], and key is the key of the request.
	// In both, each of the bytes * ? [ ] { } % \ is written as % and two hexadecimal digits, and so
	// is a : in name. The 1 changes when a release of this package cannot read the values of
	// earlier releases.
	//
	// The prefix must be printable ASCII, without spaces and without the characters
	// * ? [ ] { } % \. All processes that share limits must have the same prefix.
	Prefix string

	// MaxKeyLen is the longest name or key, in bytes, that the key in Redis contains; 0 means 128.
	// A longer name or key is replaced by its SHA-256. All processes that share limits must have
	// the same MaxKeyLen.
	MaxKeyLen int

	// Timeout is the longest time that a decision takes in the store; 0 means one second. An
	// earlier deadline of the context takes precedence. When the Timeout has passed, the error of
	// the decision wraps [ErrNoReply] or [ErrBusy].
	Timeout time.Duration

	// MaxInFlight is the number of commands that may be in flight; 0 means 1024. When that many are
	// in flight, further callers wait until one ends. If none ends in time, they get an error, see
	// [ErrBusy]. MaxInFlight bounds the goroutines, memory and connections that commands take up
	// while a server does not reply, but not how many callers wait. Calls that share a command
	// count separately. A command whose caller has given up still counts until the client gives it
	// up.
	//
	// The farther away the server is, the more commands are in flight, up to this number. For d
	// decisions a second over a round trip of t, set at least d × t. For example, 50,000 a second
	// over 20 ms need 1,000. Policies without a script need up to twice as many.
	MaxInFlight int

	// SingleServer declares that one server has all keys, whether the client connects to it
	// directly, through Sentinel, or through a proxy. Callers of different keys can then share a
	// script call if they come while other commands are in flight. Their requests must differ only
	// in the key, such as calls of Take for the same number of events under the same policy. The
	// policy must have a script. If the reply is lost, all these callers get the error. Otherwise
	// each gets the answer or the error that it would have got alone. docs/redis.md has
	// measurements.
	//
	// If SingleServer is set, [New] refuses a client that may use several servers, such as the
	// client of a Cluster. Do not set SingleServer if a proxy divides keys between servers. If the
	// proxy chooses the server by the first key of a command, the other keys may be counted on the
	// wrong server, and their limits exceeded.
	SingleServer bool
}

func (o Options) config() remote.Config {
	return remote.Config{
		Prefix: o.Prefix, MaxKeyLen: o.MaxKeyLen, Timeout: o.Timeout, MaxInFlight: o.MaxInFlight, SingleServer: o.SingleServer,
	}
}
