package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A reply is what the server answers to any request of a Register.
type reply struct {
	Error    *jetstream.APIError `json:"error"`
	Sequence uint64              `json:"seq"` // of the message that was published
	Message  *struct {
		Sequence uint64 `json:"seq"`
		Data     []byte `json:"data"`
	} `json:"message"` // which was asked for
	Config *jetstream.StreamConfig `json:"config"` // of the stream that was asked about
}

var errReply = errors.New("the server's reply is not one of JetStream")

// request sends a request once, and returns its reply. An error of the server is a
// [jetstream.APIError].
func (r *Register) request(ctx context.Context, m *nats.Msg) (answer reply, err error) {
	msg, err := r.send(ctx, m)
	if err != nil {
		return reply{}, err
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return reply{}, fmt.Errorf("%w: %w", errReply, err)
	}
	if answer.Error != nil {
		return reply{}, answer.Error
	}
	return answer, nil
}

// send waits for the connection, and for the reply as long as the connection lasts.
//
// While there is no connection, the client would keep the request and send it later, possibly after
// the caller has given up. When a connection breaks, the client would still wait for replies that
// cannot come.
func (r *Register) send(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	conn := r.conn
	changes := conn.StatusChanged()
	defer conn.RemoveStatusListener(changes) // which closes the channel
	for !conn.IsConnected() {
		if conn.IsClosed() {
			return nil, nats.ErrConnectionClosed
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if int64(m.Size()-len(m.Subject)) > conn.MaxPayload() {
		return nil, nats.ErrMaxPayload // the client would return it, too, but keep the channel for the reply forever
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for status := range changes {
			if status != nats.CONNECTED {
				cancel(nats.ErrDisconnected)
			}
		}
	}()
	msg, err := conn.RequestMsgWithContext(ctx, m)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return msg, err
}

// codeTooLarge is the server's code for a message that is larger than the stream takes.
const codeTooLarge jetstream.ErrorCode = 10054

// codeOf returns the code of an error of the server, or 0.
func codeOf(err error) jetstream.ErrorCode {
	var e *jetstream.APIError
	if errors.As(err, &e) {
		return e.ErrorCode
	}
	return 0
}

// wrap returns the error of an action.
func (r *Register) wrap(action string, err error) error {
	switch {
	case err == nil:
		return nil
	case codeOf(err) == jetstream.JSErrCodeStreamNotFound:
		return fmt.Errorf("weir: natsstore: there is no bucket %s: %w", r.name, err)
	}
	return fmt.Errorf("weir: natsstore: cannot %s in bucket %s: %w", action, r.name, err)
}
