module github.com/weir-go/weir/memcachedstore

go 1.25.0

replace github.com/weir-go/weir => ..

require (
	github.com/benbjohnson/clock v1.3.5
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/stretchr/testify v1.12.1
	github.com/weir-go/weir v0.0.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
