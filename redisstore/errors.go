package redisstore

import "github.com/weir-go/weir/redisstore/internal/remote"

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the timeout. It is not known whether the
	// events were counted, unless the text of the error says so.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that the timeout passed while other requests were served first. Nothing was
	// counted. If those requests were for the same key, under a policy without a script, the error
	// also wraps [weir.ErrRequest]. It then comes before the timeout if other processes have
	// changed the state during 100 attempts. Otherwise the command was not sent, because too many
	// commands were in flight.
	ErrBusy = remote.ErrBusy
)
