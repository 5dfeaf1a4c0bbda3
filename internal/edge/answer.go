package edge

import (
	"net/http"

	"github.com/weir-go/weir"
)

// Answering is the handler that a Middleware of httplimit makes. It is for an edge whose clients
// need answers in another protocol.
type Answering interface {
	http.Handler

	// AnsweringBy returns a handler with the same limits and the same checks of the wiring. The
	// functions denied and failed answer the requests that do not pass.
	AnsweringBy(
		denied func(http.ResponseWriter, *http.Request, weir.Result),
		failed func(http.ResponseWriter, *http.Request, error),
	) http.Handler
}
