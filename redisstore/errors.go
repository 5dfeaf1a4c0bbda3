package redisstore

import "github.com/weir-go/weir/redisstore/internal/remote"

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the timeout, or within a shorter timeout of
	// the client. It is not known whether the events were counted, unless the text of the error
	// says so.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that the timeout passed while other requests were served first. Nothing was
	// counted. There are two cases:
	//
	//   - Too many commands were in flight, and the command was not sent. Under a policy without a
	//     script, the error may also be ErrNoReply. It then says that nothing was counted.
	//   - Under a policy without a script, other requests for the same key came first. The error
	//     then also wraps [weir.ErrRequest]. It comes before the timeout if other requests have
	//     changed the state during each of 100 attempts.
	ErrBusy = remote.ErrBusy
)
