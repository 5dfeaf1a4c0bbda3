package natsstore

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Options determine how a [Store] behaves. The zero value of every field is a good default.
type Options struct {
	// Bucket is the name of the key-value bucket. The default is "weir". It consists of ASCII
	// letters, digits, and the characters - and _. The bucket may also hold keys of other programs:
	// the keys of the store begin with "weir/".
	Bucket string

	// Timeout is the longest time that a decision takes; 0 means one second. An earlier deadline of
	// the context takes precedence.
	Timeout time.Duration
}

func (o Options) bucket() string { return cmp.Or(o.Bucket, "weir") }

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, time.Second) }

var validBucket = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// check returns all faults of the options.
func (o Options) check() error {
	var errs []error
	if !validBucket.MatchString(o.bucket()) {
		errs = append(errs, fmt.Errorf("weir: natsstore.Options.Bucket is %q, must have only ASCII letters, digits, - and _",
			o.Bucket))
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("weir: natsstore.Options.Timeout is %v, must be at least 0", o.Timeout))
	}
	return errors.Join(errs...)
}
