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

# weir beside its peers, interleaved; writes docs/benchmarks.md, and docs/benchmarks-history.md with the
# figures of what is not released yet. Takes 20 minutes.
# weir alone, for benchstat: go test -run '^$' -bench . -count 6 . > new.txt
bench:
	go run ./benchmarks/report -history benchmarks/history/unreleased.txt
	go run ./benchmarks/history -write
