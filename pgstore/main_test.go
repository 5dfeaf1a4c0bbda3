package pgstore_test

import (
	"testing"

	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
