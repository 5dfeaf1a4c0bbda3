#!/usr/bin/env bash
# Makes a release in a copy of what is committed, and a module proxy on disk of its tags. Then a program for each
# module is built from it, in a folder outside, as users do on the day of the release: without go.work and
# "replace".
set -euo pipefail
cd "$(dirname "$0")/.."
version=v0.0.1 # so low that no release has it

fail() { printf 'release_test: %s\n' "$*" >&2; exit 1; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
git clone -q --no-tags . "$work/weir" # as before the first release, whatever has been released since
cd "$work/weir"
git config user.name release
git config user.email release@localhost
export RELEASE_CHECK=true

# What must stop a release.
refused() { # what it must say, and what is called
	local says=$1 said
	shift
	if said=$("$@" 2>&1); then fail "$* passed, must say: $says"; fi
	[[ $said == *"$says"* ]] || fail "$* said: $said; must say: $says"
}
refused "must be like v0.1.0" scripts/release.sh 0.1
refused "must end in /v2" scripts/release.sh v2.0.0
refused "no heading" scripts/release.sh "$version"
printf '\n## [%s]\n' "${version#v}" >>CHANGELOG.md
echo "There is no release yet." >>docs/README.md
refused "no longer true" scripts/release.sh "$version"
sed -i '/no release yet\|the first release\|been released yet/d' ./*.md docs/*.md
refused "$version.txt is missing" scripts/release.sh "$version"
figures=(benchmarks/history/*.txt) # those of the last release, if there is nothing newer
cp "${figures[0]}" "benchmarks/history/$version.txt"
refused "not clean" scripts/release.sh "$version"
git add -A
git commit -qm "A change log and figures"
RELEASE_CHECK=false refused "" scripts/release.sh "$version" --do
refused "unknown" scripts/release.sh "$version" --now

before=$(git rev-parse HEAD)
scripts/release.sh "$version"
[ "$(git rev-parse HEAD)" = "$before" ] && [ -z "$(git tag)" ] || fail "a dry run changed something"
scripts/release.sh "$version" --do
refused "is there already" scripts/release.sh "$version" --do

# What the last release uses of other modules must stay, also if the modules of now have been adapted.
next=v0.0.2
printf '\n## [%s]\n' "${next#v}" >>CHANGELOG.md
cp "benchmarks/history/$version.txt" "benchmarks/history/$next.txt"
git add -A
git commit -qm "The next release"
scripts/release.sh "$next"
for name in internal/edge:CheckServer redisstore/internal/remote:ErrNoReply; do
	git grep -lw "${name#*:}" -- '*.go' | xargs sed -i "s/\b${name#*:}\b/${name#*:}Anew/g"
	git commit -qam "Another name in ${name%:*}"
	refused "/$version does not compile with the other modules" scripts/release.sh "$next"
	git reset -q --hard HEAD~
done

# A proxy is files: go.dev/ref/mod#goproxy-protocol.
root=$(GOWORK=off go list -m)
go_version=$(sed -n 's/^go //p' go.mod)
for tag in $(git tag); do
	folder=${tag%"$version"}
	folder=${folder%/}
	module=$root${folder:+/$folder}
	at=$work/proxy/$module/@v
	mkdir -p "$at"
	echo "$version" >"$at/list"
	printf '{"Version":"%s"}\n' "$version" >"$at/$version.info"
	git show "$tag:${folder:+$folder/}go.mod" >"$at/$version.mod"
	nested=() # modules are not part of those around them
	while read -r inner; do
		[ "$inner" = go.mod ] || nested+=(":(exclude)${inner%/go.mod}")
	done < <(git ls-tree -r --name-only "$tag:$folder" | grep -E '(^|/)go\.mod$')
	git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" "$tag:$folder" -- . "${nested[@]}"
done

# The modules' own dependencies are in the cache already: as a proxy it serves as well.
export GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOMODCACHE=$work/cache GOWORK=off GONOSUMDB=$root GOFLAGS="${GOFLAGS-} -mod=mod"
for tag in $(git tag); do
	module=$root/${tag%"$version"}
	module=${module%/}
	mkdir -p "$work/user/$tag"
	cd "$work/user/$tag"
	if [ "$module" = "$root/cmd/weir" ]; then # a program
		GOFLAGS=${GOFLAGS/-mod=mod/} GOBIN=$work/bin go install "$module@$version"
		"$work/bin/weir" explain 100/1m
		printf '== %s %s can be installed and run\n' "$module" "$version"
		continue
	fi
	printf 'module example.com/user\n\ngo %s\n' "$go_version" >go.mod
	printf 'package main\n\nimport _ "%s"\n\nfunc main() {}\n' "$module" >main.go
	go get "$module@$version"
	go run .
	others=$(go list -m -f '{{if ne .Version "'"$version"'"}}{{.Path}}@{{.Version}}{{end}}' all | grep "^$root" || true)
	[ -z "$others" ] || fail "who imports $module gets $others"
	printf '== %s %s can be got and run\n' "$module" "$version"
done
