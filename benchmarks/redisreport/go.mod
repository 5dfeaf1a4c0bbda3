module github.com/weir-go/weir/benchmarks/redisreport

go 1.26.0

replace (
	github.com/weir-go/weir => ../..
	github.com/weir-go/weir/redisstore => ../../redisstore
	github.com/weir-go/weir/redisstore/rueidisstore => ../../redisstore/rueidisstore
)

require (
	github.com/go-chi/httprate v0.16.1
	github.com/go-chi/httprate-redis v0.6.0
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/gomodule/redigo v1.9.3
	github.com/redis/go-redis/v9 v9.20.1
	github.com/redis/rueidis v1.0.79
	github.com/sethvargo/go-redisstore v0.3.0
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
	github.com/weir-go/weir v0.0.0
	github.com/weir-go/weir/redisstore v0.0.0
	github.com/weir-go/weir/redisstore/rueidisstore v0.0.0-00010101000000-000000000000
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/cpuid/v2 v2.3.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/sethvargo/go-limiter v0.7.1 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
