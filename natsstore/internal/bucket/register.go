// Package bucket is a [casstore.Register] on a key-value bucket of NATS JetStream. It belongs to
// package natsstore. It is a package of its own so that the tests that need a server can use it.
//
// A bucket is a stream with one message for each key. The store's requests are those of the
// jetstream package, except for two things which its KeyValue does not offer: values that expire
// when they are updated, and reads that only the leader of the stream answers.
package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A Register keeps values in a bucket. The version of a value is the sequence number of its message
// in the stream. A key without a message has the version 0. A key whose value was deleted, or has
// expired, may have a marker for a while, which is a message without data.
type Register struct {
	conn    *nats.Conn
	name    string // of the bucket
	info    string // the subject of requests for the settings of the stream
	read    string // the subject of requests for the last message of a subject
	write   string // begins the subject of each key, if messages are published to it
	keys    string // begins the subject of each key in the stream
	checked atomic.Bool
}

// New returns a Register on the bucket of a name. It sends nothing.
func New(js jetstream.JetStream, name string) *Register {
	r := &Register{conn: js.Conn(), name: name, keys: "$KV." + name + "."}
	api, own := apiPrefix(js.Options())
	r.info, r.read = api+"STREAM.INFO.KV_"+name, api+"STREAM.MSG.GET.KV_"+name
	r.write = r.keys
	if own {
		r.write = api + r.keys
	}
	return r
}

// apiPrefix returns what the subjects of all requests begin with, and whether that differs from the
// default.
func apiPrefix(o jetstream.JetStreamOptions) (prefix string, own bool) {
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API.", true
	case o.APIPrefix == "":
		return jetstream.DefaultAPIPrefix, false
	case o.APIPrefix[len(o.APIPrefix)-1] == '.':
		return o.APIPrefix, o.APIPrefix != jetstream.DefaultAPIPrefix
	}
	return o.APIPrefix + ".", o.APIPrefix+"." != jetstream.DefaultAPIPrefix
}

// Get implements [casstore.Register]. Only the leader of the stream answers. KeyValue.Get would let
// any replica answer. If that replica lags behind, requests would be denied by a count that is no
// longer true.
func (r *Register) Get(ctx context.Context, key string) (casstore.Entry, error) {
	if !r.checked.Load() {
		if err := r.Check(ctx); err != nil {
			return casstore.Entry{}, err
		}
	}
	body, err := json.Marshal(map[string]string{"last_by_subj": r.keys + key})
	if err != nil {
		return casstore.Entry{}, r.wrap("read a value", err)
	}
	reply, err := r.request(ctx, &nats.Msg{Subject: r.read, Data: body})
	switch {
	case codeOf(err) == jetstream.JSErrCodeMessageNotFound:
		return casstore.Entry{Version: uint64(0)}, nil
	case err != nil:
		return casstore.Entry{}, r.wrap("read a value", err)
	case reply.Message == nil || reply.Message.Sequence == 0:
		return casstore.Entry{}, r.wrap("read a value", errReply)
	}
	return casstore.Entry{Value: reply.Message.Data, Version: reply.Message.Sequence}, nil
}

// Swap implements [casstore.Register]. It returns what it wrote, with the version that the server
// has reported.
func (r *Register) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (now casstore.Entry, ok bool, err error) {
	version, _ := old.Version.(uint64)
	m := nats.NewMsg(r.write + key)
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(version, 10))
	m.Header.Set(jetstream.MsgTTLHeader, timeToLive(keep))
	m.Data = value
	reply, err := r.request(ctx, m)
	switch code := codeOf(err); {
	case code == jetstream.JSErrCodeStreamWrongLastSequence, code == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return casstore.Entry{}, false, nil // another process was faster
	case code == codeTooLarge, errors.Is(err, nats.ErrMaxPayload):
		return casstore.Entry{}, false, r.wrap("replace a value", fmt.Errorf("%w: the value has %d bytes: %w",
			weir.ErrRequest, len(value), err))
	case err != nil:
		return casstore.Entry{}, false, r.wrap("replace a value", err)
	case reply.Sequence == 0:
		return casstore.Entry{}, false, r.wrap("replace a value", errReply)
	}
	return casstore.Entry{Value: value, Version: reply.Sequence}, true, nil
}

// Delete implements [casstore.Register]. It leaves a marker for a second, as KeyValue.Purge does,
// so that programs that watch the bucket see the deletion.
func (r *Register) Delete(ctx context.Context, key string) error {
	m := nats.NewMsg(r.write + key)
	m.Header.Set("KV-Operation", "PURGE")
	m.Header.Set(jetstream.MsgTTLHeader, timeToLive(time.Second))
	_, err := r.request(ctx, m)
	return r.wrap("delete a value", err)
}

// The server adds the time to live to the time of the message, in nanoseconds. With a time to live
// above longest, the sum might overflow.
const longest = 100 * 365 * 24 * time.Hour

// timeToLive is keep in whole seconds, rounded up.
func timeToLive(keep time.Duration) string {
	if keep > longest {
		return "never"
	}
	return strconv.FormatInt(int64((keep+time.Second-1)/time.Second), 10) + "s"
}
