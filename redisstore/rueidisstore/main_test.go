package rueidisstore

import (
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
)

func TestMain(m *testing.M) { runs.Main(m) }
