module github.com/weir-go/weir/cmd/weir

go 1.25.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/urfave/cli/v3 v3.14.0
	github.com/weir-go/weir v0.0.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/weir-go/weir => ../..
