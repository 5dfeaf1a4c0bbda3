package redisstore_test

import (
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
)

func TestStore(t *testing.T) {
	t.Parallel()
	checks.Store(t, made)
}

func TestStoreInRealTime(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.InRealTime(t, made)
}

func TestSingleServer(t *testing.T) {
	t.Parallel()
	checks.SingleServer(t, made)
}
