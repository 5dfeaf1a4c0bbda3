package natsstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/natsstore"
)

func TestNew_Faults(t *testing.T) {
	_, err := natsstore.New(nil, natsstore.Options{Bucket: "a.b", Timeout: -1})
	assert.EqualError(t, err, `weir: natsstore.New with a nil JetStream, must be one
weir: natsstore.Options.Bucket is "a.b", must have only ASCII letters, digits, - and _
weir: natsstore.Options.Timeout is -1ns, must be at least 0`)
	_, err = natsstore.New(nil, natsstore.Options{})
	assert.EqualError(t, err, "weir: natsstore.New with a nil JetStream, must be one")
}
