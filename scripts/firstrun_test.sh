#!/usr/bin/env bash
# Does what somebody does first, on a machine that has Go and git and nothing else: a clone, an empty module
# cache, and no redis-server, etcd, curl or C compiler in PATH. The commands of the README must pass, and none may
# leave a change in the clone. Tests that lack a program are skipped, and say what to install.
# Modules are copied from the cache of this machine, where that has them.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s\n' "$*"; }
fail() { printf 'firstrun_test: %s\n' "$*" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q . "$work/weir"
modules=$(go env GOMODCACHE)

mkdir "$work/bin"
for program in go git; do
	ln -s "$(command -v $program)" "$work/bin/$program"
done
bare() { # runs a command as such a machine would, and fails if the clone has changed
	step "$*"
	(
		cd "$work/weir"
		export PATH=$work/bin CI= GOGC= ZONEINFO=
		"$@" >"$work/output" 2>&1
	) || { cat "$work/output"; fail "$* failed"; }
	changed=$(git -C "$work/weir" status --porcelain)
	[ -z "$changed" ] || { git -C "$work/weir" diff; fail "$* has changed:"$'\n'"$changed"; }
}

export GOMODCACHE=$work/modules GOFLAGS="${GOFLAGS-} -modcacherw" # so that it can be removed
GOPROXY=file://$modules/cache/download,$(go env GOPROXY)
export GOPROXY
bare go list -m all
bare go doc -all github.com/weir-go/weir
bare go list -deps -test work # loads all that tests need, and compiles nothing

# What is built from modules elsewhere is built anew. So the rest uses those of this machine.
export GOMODCACHE=$modules
go list work | grep -Ev '/(benchmarks|examples|cmd|internal)(/|$)' | while read -r package; do
	bare go doc -all "$package"
done
bare go vet ./... ./redisstore ./pgstore # and what they need, without cgo
bare go run ./examples/httpserver -h
bare go run ./cmd/weir explain 100/1m
bare go test -v ./examples/httpserver ./examples/shares ./redisstore/... ./redisstore/rueidisstore ./memcachedstore
grep -ohE 'needs .*: install [a-z-]+' "$work/output" | sort | uniq -c
for missing in curl redis-server etcd-server memcached; do
	grep -q "install $missing" "$work/output" || fail "no test said that it needs $missing"
done
