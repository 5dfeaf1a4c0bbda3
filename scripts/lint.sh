#!/usr/bin/env bash
# Checks the code of every module: format, what is generated, vet, staticcheck, go.mod, dependencies.
# Needs Go and a module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."

# Releases of the tools. "go run" fetches and builds them once, outside of our modules.
gofumpt=mvdan.cc/gofumpt@v0.12.0
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

step() { printf '== %s\n' "$*"; }
fail() { printf 'lint: %s\n' "$*" >&2; exit 1; }

step "gofumpt -l"
files=$(go run $gofumpt -l .)
[ -z "$files" ] || fail "not formatted as gofumpt does (run: go run $gofumpt -w .):"$'\n'"$files"

step "files of 300 lines at most"
long=$(git ls-files -z -- '*.go' | xargs -0 wc -l | awk '$1 > 300 && $2 != "total"')
[ -z "$long" ] || fail "divide these by what they are about:"$'\n'"$long"

step "lines of prose of 100 columns at most"
wide=$(git ls-files -z -- '*.md' | xargs -0 awk 'FNR == 1 { code = 0 } /^ *```/ { code = !code }
	!code && !/^ *\|/ && !/^    / && !/https?:/ { print FILENAME ":" FNR ":" $0 }' |
	LC_ALL=C.UTF-8 grep -E '^[^:]*:[0-9]*:.{101}' || true)
[ -z "$wide" ] || fail "break these lines:"$'\n'"$wide"

step "generated files"
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
scripts/generate.sh "$generated"
(cd "$generated" && find . -name '*.go') | while read -r file; do
	diff "redisstore/$file" "$generated/$file" || fail "run: scripts/generate.sh"
done

step "the picture of docs/architecture.md"
scripts/architecture.sh | diff docs/architecture.md - || fail "run: scripts/architecture.sh --write"

step "go.work and dependabot know all modules"
outside=$(comm -23 <(git ls-files -- go.mod '**/go.mod' | sed "s|^|$PWD/|" | sort) <(go list -m -f '{{.GoMod}}' | sort))
[ -z "$outside" ] || fail "go work use the folders of"$'\n'"$outside"
go list -m -f '{{.Dir}}' | while read -r dir; do
	dir=${dir#"$PWD"}
	grep -qF -- "- \"${dir:-/}\"" .github/dependabot.yml || fail "add ${dir:-/} to .github/dependabot.yml"
done

step "staticcheck"
go run $staticcheck work

# Each module must also stand alone, as those see it who depend on it. vet compiles what it imports, and checks
# the types of all else. To build it, or to vet it in the workspace too, would find no more.
go list -m -f '{{.Path}} {{.Dir}}' | while read -r module dir; do
	step "$module alone: go mod tidy, vet"
	(
		cd "$dir"
		export GOWORK=off
		go mod tidy -diff
		go vet ./...
	)
done

step "the root module links the standard library alone"
linked=$(GOWORK=off go list -deps -f '{{with .Module}}{{.Path}}{{end}}' ./... | sort -u)
[ "$linked" = "$(go list -f '{{.Module.Path}}' .)" ] || fail "non-test code links other modules:"$'\n'"$linked"

step "no room imports the root" # but for those of the suites, and the one that the edges share
rooms=$(go list -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./internal/... | grep -vE '^[^ ]*/internal/(edge|suite)( |/)' |
	awk '{ for (i = 2; i <= NF; i++) if ($i == "github.com/weir-go/weir") print $1 }')
[ -z "$rooms" ] || fail "these must not import the root:"$'\n'"$rooms"

step "no package for users links what is for tests"
packages=$(go list work | grep -Ev '/(benchmarks|examples|storetest|registertest|internal/(lincheck|suite|test))(/|$)')
linked=$(go list -deps $packages | grep -E '^testing(/|$)|/internal/test/' || true)
[ -z "$linked" ] || fail "non-test code links:"$'\n'"$linked"
