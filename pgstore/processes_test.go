package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

// Several processes are granted exactly the limit of a key. All make the table at the same time.
func TestProcessesShareALimit(t *testing.T) {
	traffic.Processes(t,
		func(t *testing.T) string {
			server := pgtest.Shared(t)
			return server.URL(server.Addr())
		},
		func(t *testing.T, url string) weir.Store {
			s := newStore(t, newPool(t, url), pgstore.Options{Table: pgx.Identifier{"processes"}, Timeout: traffic.Patience})
			require.NoError(t, s.CreateTable(t.Context()))
			return s
		})
}
