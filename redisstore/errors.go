package redisstore

import "github.com/weir-go/weir/redisstore/internal/remote"

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the timeout. The events may or may not have
	// been counted.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that the command was not sent, because earlier commands were in flight until
	// its timeout. Nothing was counted. It comes with [weir.ErrRequest] if the earlier commands
	// were those of other callers in this process for the same key, by a policy without a script.
	ErrBusy = remote.ErrBusy
)
