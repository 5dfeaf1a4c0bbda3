package redisstore

import "github.com/weir-go/weir/redisstore/internal/remote"

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the timeout. It is not known whether the events
	// were counted, unless the text of the error tells it.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that other requests came first until the timeout. Nothing was counted. It comes
	// with [weir.ErrRequest] if these were for the same key, by a policy without a script.
	// Otherwise the command was not sent, because too many were in flight.
	ErrBusy = remote.ErrBusy
)
