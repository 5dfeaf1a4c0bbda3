package redisstore

import "github.com/weir-go/weir/redisstore/internal/remote"

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no decision within the Timeout in [Options], or no reply
	// within a shorter timeout of the client. The events may have been counted, unless the text of
	// the error says that nothing was counted.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that other requests came first. Nothing was counted. There are two cases:
	//
	//   - Too many commands were in flight, and the command was not sent before the Timeout. If the
	//     process decides, and not a script, the error is usually ErrNoReply instead.
	//   - The process decides, and other requests for the same key came first: until the Timeout
	//     passed, until the context ended, or in each of 100 attempts. The error then also wraps
	//     [weir.ErrRequest].
	ErrBusy = remote.ErrBusy
)
