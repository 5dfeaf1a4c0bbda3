module github.com/weir-go/weir/connectlimit

go 1.26.0

replace github.com/weir-go/weir => ..

require (
	connectrpc.com/connect v1.21.1
	github.com/benbjohnson/clock v1.3.5
	github.com/stretchr/testify v1.12.1
	github.com/weir-go/weir v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/protobuf v1.36.12
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
