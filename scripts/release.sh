#!/usr/bin/env bash
# Makes a release of all modules that users import, with one version:
#
#   scripts/release.sh VERSION        shows what it would do, and changes nothing here
#   scripts/release.sh VERSION --do   makes the commit and its tags; pushing them is left to you
#
# The tree must be clean, and all that CI checks must pass. The modules then require each other by VERSION,
# and each gets its tag on that one commit, the root first: v0.1.0, redisstore/v0.1.0, and so on. In the
# repository "replace" holds the modules together; who imports them does not see it, and gets the versions.
# "go install" refuses a program with a "replace". So the tag of a program is on a commit beside the branch, which
# has none.
# RELEASE_CHECK is run in place of .ci/run, for scripts/release_test.sh, which .ci/run calls.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'release: %s\n' "$*" >&2; exit 1; }

version=${1:-}
[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] ||
	fail "version is '$version', must be like v0.1.0"
[[ $version =~ ^v[01]\. ]] || fail "version is $version; from v2 on the module paths must end in /${version%%.*}"
case ${2:-} in
"") dry=1 ;;
--do) dry= ;;
*) fail "'$2' is unknown; --do makes the release, nothing shows it" ;;
esac
grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no heading '## [${version#v}]'"
! grep -n 'no release yet\|the first release\|been released yet' README.md SECURITY.md CHANGELOG.md docs/*.md ||
	fail "with a release, these sentences are no longer true"
figures=benchmarks/history/$version.txt
[ -f "$figures" ] ||
	fail "$figures is missing (make bench; git mv benchmarks/history/unreleased.txt $figures; go run ./benchmarks/history -write)"
[ -z "$(git status --porcelain)" ] || fail "the tree is not clean (run: git status)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "$dry" ]; then # in a copy
	git clone -q . "$scratch/weir"
	cd "$scratch/weir"
	git config user.name nobody # a commit must have somebody
	git config user.email nobody@localhost
fi

# Those that users import, in the order of their paths: whoever is nested comes after those around it.
modules=$(go list -m -f '{{.Path}} {{.Dir}}' | grep -Ev '/(benchmarks|examples|internal)( |/)' | LC_ALL=C sort)
root=$(awk 'NR == 1 { print $1 }' <<<"$modules")
tags=()
while read -r module dir; do
	tag=${module#"$root"}
	tag=${tag#/}
	tags+=("${tag:+$tag/}$version")
	! git rev-parse -q --verify "refs/tags/${tags[-1]}" >/dev/null || fail "the tag ${tags[-1]} is there already"
done <<<"$modules"

# A build has the newest version of each module that it requires, one by one: the root of now, for example, and the
# last grpclimit. So each module of the last release must compile with all others as they are now.
last=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)
if [ "$last" ]; then
	mkdir "$scratch/last"
	git archive "$last" | tar -x -C "$scratch/last"
	for tag in $(git tag --list "*/$last"); do
		(
			cd "$scratch/last/${tag%"/$last"}"
			while read -r module dir; do
				[ "$module" = "$root/${tag%"/$last"}" ] || go mod edit -replace="$module=$dir"
			done <<<"$modules"
			GOWORK=off GOFLAGS="${GOFLAGS-} -mod=mod" go build ./...
		) || fail "$tag does not compile with the other modules as they are now: what it uses of their internal packages must stay"
	done
fi

${RELEASE_CHECK:-.ci/run}

go list -m -f '{{.Dir}}' | while read -r dir; do
	for module in $(awk '{ print $1 }' <<<"$modules"); do
		if grep -Eq "^(require )?[[:space:]]*$module v" "$dir/go.mod"; then
			go mod edit -require="$module@$version" "$dir/go.mod"
		fi
	done
done
git add -A
git diff --cached --quiet || git commit -qm "Release $version"
while read -r module dir; do
	tag=${module#"$root"}
	tag=${tag:+${tag#/}/}$version
	if [ "$(go list -f '{{.Name}}' "$module")" = main ]; then
		sed -i '/^replace /d' "$dir/go.mod"
		git commit -qam "Release $tag"
		git tag -a "$tag" -m "$tag"
		git reset -q --hard HEAD~
	else
		git tag -a "$tag" -m "$tag"
	fi
done <<<"$modules"

if [ "$dry" ]; then
	printf 'would commit:\n%s\nwould tag:\n' "$(git show --stat --format=%s HEAD)"
	printf '  %s\n' "${tags[@]}"
else
	# All or nothing: a tag whose commit the branch refuses could not be taken back from the module proxies.
	printf 'done; to publish: git push --atomic origin HEAD %s\n' "${tags[*]}"
fi
