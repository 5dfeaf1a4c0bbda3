module github.com/weir-go/weir/internal/lincheck

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/weir-go/weir v0.0.0
)

replace github.com/weir-go/weir => ../..
