package script

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A register is the casstore.Register for decisions that no script makes. It translates: a state
// that a script can go on from is in the script's form in Redis.
//
// If a state is ahead of the server's clock, it comes from a server with another clock. The state
// goes on by that other clock, and recovers as it would have there.
type register struct {
	*Engine
	until time.Time // adopt ends by then; zero if its context ends in time
}

// A version is the Version of an entry: what stands in Redis, and how far the clock of the state is
// ahead of the server's, in microseconds.
type version struct {
	raw   string
	ahead int64
}

// Get implements [casstore.Register].
func (r register) Get(ctx context.Context, key string) (casstore.Entry, error) {
	reply, err := r.run(ctx, Call{Script: r.scripts.read, Key: key})
	if err != nil {
		return casstore.Entry{}, err
	}
	return r.entry(ctx, key, reply)
}

// Swap implements [casstore.Register].
func (r register) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	v := old.Version.(version)
	raw := r.raw(value, old.Now.UnixNano()/micro, v.ahead)
	reply, err := r.swap(ctx, key, v.raw, raw, keep)
	if err != nil || reply.what == done {
		return casstore.Entry{}, err == nil, err
	}
	now, err := r.entry(ctx, key, reply)
	if err != nil {
		now = casstore.Entry{} // Get finds it, too
	}
	return now, false, nil
}

// Delete implements [casstore.Register].
func (r register) Delete(ctx context.Context, key string) error {
	_, err := r.Send(ctx, Call{Key: key})
	return err
}

func (r register) swap(ctx context.Context, key, old, raw string, keep time.Duration) (reply, error) {
	life := int64(keep / time.Millisecond)
	if keep == weir.Never {
		life = 0
	}
	return r.run(ctx, Call{Script: r.scripts.swap, Key: key, Args: [4]any{old, raw, strconv.FormatInt(life, 10)}})
}

// raw returns the bytes in Redis for a value that was left at the instant latest by its own clock.
// If the script can go on from the value, they are in the script's form. Otherwise they are the
// kind, latest, ahead, and the value.
func (r register) raw(value []byte, latest, ahead int64) string {
	if ahead == 0 {
		if p, words, ok := r.cas.DecodeState(value); ok {
			if pl, _ := r.planBy(p); pl != nil {
				if b, ok := pl.codec.encode(words, latest); ok {
					return pl.head + string(b)
				}
			}
		}
	}
	b := appendUint([]byte{kindSwapped}, uint64(latest), 7)
	return string(append(binary.AppendUvarint(b, uint64(ahead)), value...))
}

// state is raw in reverse.
func (r register) state(raw string) (value []byte, latest, ahead int64, err error) {
	rd := read(raw)
	switch {
	case raw == "":
		return nil, 0, 0, nil
	case raw[0] == kindSwapped:
		rd.take(1)
		latest = rd.micros()
		if n := rd.varint(); n <= math.MaxInt64/micro {
			ahead, value = int64(n), []byte(rd.s)
		}
		if rd.ok = rd.ok && len(value) > 0; !rd.ok {
			err = errValue
		}
		return value, latest, ahead, err
	}
	p, err := r.readPlan(&rd)
	if err != nil {
		return nil, 0, 0, err
	}
	words, latest, ok := p.codec.decode(nil, rd)
	if !ok {
		return nil, 0, 0, errValue
	}
	if value, err = r.cas.EncodeState(p.policy, words); err != nil {
		return nil, 0, 0, fmt.Errorf("%w: %w", errValue, err)
	}
	return value, latest, 0, nil
}

// entry returns the entry for a reply with what stands in Redis.
func (r register) entry(ctx context.Context, key string, found reply) (casstore.Entry, error) {
	raw := found.rest.s
	value, latest, ahead, err := r.state(raw)
	if err != nil {
		return casstore.Entry{}, err
	}
	if latest-(found.now+ahead) > r.skew {
		ahead = latest - found.now
		if raw, err = r.adopt(ctx, key, raw, value, latest, ahead); err != nil {
			return casstore.Entry{}, err
		}
	}
	if ahead > math.MaxInt64/micro-found.now {
		return casstore.Entry{}, errValue
	}
	return casstore.Entry{Value: value, Version: version{raw, ahead}, Now: time.UnixMicro(found.now + ahead)}, nil
}

// adopt writes how far the clock of a state is ahead. Without that, a key that is only denied would
// not recover before the server's clock has caught up. It returns what then stands in Redis.
func (r register) adopt(ctx context.Context, key, raw string, value []byte, latest, ahead int64) (string, error) {
	expiry, err := r.cas.Expiry(value)
	if err != nil {
		return raw, nil // the decision fails
	}
	keep := weir.Never
	if expiry < math.MaxInt64 {
		keep = max(time.Duration(expiry-latest*micro), 0) + time.Millisecond
	}
	if !r.until.IsZero() { // without a Deadline in ctx: that would be taken for the caller's
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer time.AfterFunc(time.Until(r.until), func() { cancel(casstore.ErrNoReply) }).Stop()
	}
	with := r.raw(value, latest, ahead)
	if reply, err := r.swap(ctx, key, raw, with, keep); err != nil || reply.what != done {
		return raw, err
	}
	return with, nil
}
