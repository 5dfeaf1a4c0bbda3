# What people and .ci/run do here. Each is a plain go command or a short script.

.PHONY: test race lint fuzz bench

# All tests of all modules in go.work.
test:
	go test work

race:
	go test -race work

# Format, vet, staticcheck, go.mod and dependencies, every module for itself too.
lint:
	scripts/lint.sh

# Every fuzz target, one after the other: make fuzz FUZZTIME=10m FUZZ=Token
FUZZTIME ?= 1m
FUZZ ?= .
fuzz:
	scripts/fuzz.sh $(FUZZTIME) $(FUZZ)

# Benchmarks of the root module, for benchstat: make bench COUNT=6 > new.txt
COUNT ?= 1
bench:
	@go test -run '^$$' -bench . -benchmem -count $(COUNT) .
