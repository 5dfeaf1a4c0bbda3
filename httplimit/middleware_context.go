package httplimit

import (
	"context"
	"net/http"
)

// Decisions returns the decisions that let a request pass. ctx is the context that the handler
// gets. The decisions are those of all Middlewares with InContext that the request came through,
// the outermost first. Each [Limit] that applies has one decision. To find the decision of a limit,
// compare Names: its index can differ from request to request. The caller must not change the
// slice.
func Decisions(ctx context.Context) []Decision {
	if d, ok := ctx.Value(decisionsKey{}).(*decided); ok {
		return d.list
	}
	return nil
}

type decisionsKey struct{}

// decided is a context with decisions. A context.WithValue would need one more allocation, for the
// slice as a value.
type decided struct {
	context.Context
	list []Decision
}

// Value implements [context.Context].
func (d *decided) Value(key any) any {
	if key == (decisionsKey{}) {
		return d
	}
	return d.Context.Value(key)
}

func withDecisions(ctx context.Context, all []asked) context.Context {
	outer := Decisions(ctx)
	list := make([]Decision, len(outer), len(outer)+len(all))
	copy(list, outer)
	for i := range all {
		list = append(list, all[i].d)
	}
	return &decided{ctx, list}
}

// handOver lets the outer request know what a handler has made of an upload with the inner one, a
// copy of it: net/http removes the files of the request that it has made.
func handOver(outer, inner *http.Request) {
	if outer.MultipartForm == nil {
		outer.MultipartForm = inner.MultipartForm
	}
}
