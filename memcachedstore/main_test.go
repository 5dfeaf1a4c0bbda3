package memcachedstore_test

import (
	"testing"

	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

func TestMain(m *testing.M) { memcachedtest.Main(m) }
