package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Check returns an error if it cannot read the settings of the bucket, or if the store cannot rely
// on them. It allows markers of expired values (SubjectDeleteMarkerTTL). All buckets that
// CreateKeyValue makes with a LimitMarkerTTL have them, and such a marker removes a grant only very
// rarely.
func (r *Register) Check(ctx context.Context) error {
	reply, err := r.request(ctx, &nats.Msg{Subject: r.info})
	switch {
	case err != nil:
		return r.wrap("read the settings", err)
	case reply.Config == nil:
		return r.wrap("read the settings", errReply)
	}
	if err := r.faults(*reply.Config); err != nil {
		return err
	}
	r.checked.Store(true)
	return nil
}

// faults returns all settings that are not allowed. It calls MaxMsgsPerSubject History, and MaxAge
// TTL, as jetstream.KeyValueConfig does.
func (r *Register) faults(c jetstream.StreamConfig) error {
	var errs []error
	fault := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("weir: natsstore: bucket %s "+format, append([]any{r.name}, args...)...))
		}
	}
	fault(!slices.Contains(c.Subjects, r.keys+">") && c.Mirror == nil,
		"has the Subjects %q, must have %s>: it would not take the values of all keys", c.Subjects, r.keys)
	fault(c.MaxMsgsPerSubject != 1, "has a History of %d, must be 1: an older value would come back when the last has expired",
		c.MaxMsgsPerSubject)
	fault(!c.AllowMsgTTL,
		"has neither AllowMsgTTL nor a LimitMarkerTTL, must have AllowMsgTTL, so that each value can expire at its time")
	fault(c.MaxAge != 0, "has a TTL of %v, must be 0: it would drop counts that still matter", c.MaxAge)
	fault(c.Mirror != nil, "is a Mirror, must be the bucket itself")
	fault(len(c.Sources) > 0, "has Sources, must have none: they would replace values")
	fault(c.Retention != jetstream.LimitsPolicy, "has the retention policy %v, must be %v", c.Retention, jetstream.LimitsPolicy)
	fault(c.Discard != jetstream.DiscardNew && (c.MaxBytes > 0 || c.MaxMsgs > 0),
		"drops old values when it is full, must refuse new ones")
	fault(c.SubjectTransform != nil, "has a SubjectTransform, must have none: values would be written to other keys")
	fault(c.DiscardNewPerSubject, "has DiscardNewPerSubject, must not: the value of a key could not be replaced")
	fault(c.NoAck, "has NoAck, must not: it would not report whether it has replaced a value")
	fault(c.Sealed, "is Sealed, must not be: it takes no values")
	return errors.Join(errs...)
}
