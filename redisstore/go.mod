module github.com/weir-go/weir/redisstore

go 1.25.0

replace github.com/weir-go/weir => ..

require (
	github.com/redis/go-redis/v9 v9.20.1
	github.com/stretchr/testify v1.12.1
	github.com/weir-go/weir v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
