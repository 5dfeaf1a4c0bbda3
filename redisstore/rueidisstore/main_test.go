package rueidisstore

import (
	"testing"

	"github.com/weir-go/weir/redisstore/internal/test/checks"
)

func TestMain(m *testing.M) { checks.Main(m) }
