#!/usr/bin/env bash
# Runs every fuzz target of every module for a while, one after the other:
#
#   scripts/fuzz.sh [TIME] [REGEXP]
#
# TIME is that of go test -fuzztime, 1m by default. A number of runs (10000x) ends on time even
# where the machine is busy; a duration can then fail with "context deadline exceeded" although
# nothing was found (go.dev/issue/75804). REGEXP selects targets by name. Inputs are not minimized
# beyond one try: the seeds of the hashes make coverage differ from run to run, and minimizing in vain
# would take most of the time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-1m}
regexp=${2:-.}

# "go test -list" prints a package's targets, and then a line "ok package".
targets=$(go test -list '^Fuzz' work | awk '
	/^Fuzz/   { names = names " " $1 }
	/^ok/     { n = split(names, f); for (i = 1; i <= n; i++) print $2, f[i]; names = "" }')

found=0
while read -r package target; do
	[[ $target =~ $regexp ]] || continue
	found=1
	printf '== %s %s, %s\n' "$package" "$target" "$time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package"
done <<<"$targets"
[ $found = 1 ] || { printf 'fuzz: no target matches %s\n' "$regexp" >&2; exit 1; }
