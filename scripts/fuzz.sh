#!/usr/bin/env bash
# Runs every fuzz target of every module for a while, one after the other:
#
#   scripts/fuzz.sh [TIME] [REGEXP] [PACKAGE ...]
#
# TIME is that of go test -fuzztime, 1m by default. A number of runs (10000x) ends on time even
# where the machine is busy; a duration can then fail with "context deadline exceeded" although
# nothing was found (go.dev/issue/75804). REGEXP selects targets by name. Inputs are not minimized
# beyond one try: the seeds of the hashes make coverage differ from run to run, and minimizing in vain
# would take most of the time. Without PACKAGEs, all are searched.
#
# With TURNS=n in the environment, only one target in n has its turn: by the commit, so that other
# commits search the others.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-1m}
regexp=${2:-.}
packages=("${@:3}")
[ ${#packages[@]} != 0 ] || packages=(work)

# Found in the source: "go test -list" would build the tests of all packages.
targets=$(go list -f '{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{.}} {{$p.Dir}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{.}} {{$p.Dir}}
{{end}}' "${packages[@]}" | while read -r package file dir; do
	[ -z "$package" ] || sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$dir/$file" | while read -r target; do
		printf '%s %s %s\n' "$package" "$target" "$dir"
	done
done)

# "go test -fuzz" would compile all packages anew, the standard library too, to count which of their lines an
# input has reached. Here only the packages of weir are compiled so, because the faults are looked for there.
counted=$(GOWORK=off go list -m)/...=-d=libfuzzer
binary=$(mktemp)
trap 'rm "$binary"' EXIT
trap 'exit 130' INT # a binary that is interrupted exits with 0
corpus=$(go env GOCACHE)/fuzz # where "go test -fuzz" keeps it

turns=${TURNS:-1}
turn=$((16#$(git rev-parse --short=6 HEAD | head -c 6) % turns))
found=0 i=0 built=
while read -r package target dir; do
	[[ $target =~ $regexp ]] || continue
	found=1
	[ $((i++ % turns)) = "$turn" ] || continue
	printf '== %s %s, %s\n' "$package" "$target" "$time"
	[ "$built" = "$package" ] || go test -vet=off -c -gcflags "$counted" -o "$binary" "$package"
	built=$package
	(cd "$dir" && "$binary" -test.paniconexit0 -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
		-test.fuzzminimizetime 1x -test.fuzzcachedir "$corpus/$package" </dev/null)
done <<<"$targets"
[ $found = 1 ] || { printf 'fuzz: no target matches %s\n' "$regexp" >&2; exit 1; }
