#!/usr/bin/env bash
# Prints docs/architecture.md with its picture drawn anew, by "go list": the packages of all modules, and which
# imports which. With --write it rewrites the page. scripts/lint.sh tells if what is committed is another one.
# In the picture are the packages that others can import, and what they import. Programs, and what only they,
# tests and benchmarks use, are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C GOOS=linux GOARCH=amd64 # the same picture everywhere
page=docs/architecture.md

root=$(GOWORK=off go list -m)
packages=$(go list -f '{{.Module.Path}} {{.ImportPath}} {{join .Imports " "}}' work | sort)
picture=$(awk -v root="$root" '
	function label(path) { return path == root ? path : substr(path, length(root) + 2) }
	function id(path) { path = path == root ? "weir" : label(path); gsub("/", "_", path); return path }
	function keep(path,   i, n, to) {
		if (kept[path]++) return
		n = split(imports[path], to, " ")
		for (i = 1; i <= n; i++) if (to[i] in module) keep(to[i])
	}
	{
		path = paths[NR] = $2
		module[path] = $1
		$1 = $2 = ""
		imports[path] = $0
	}
	END {
		for (i = 1; i <= NR; i++)
			if (label(paths[i]) "/" !~ "(^|/)internal/|^(benchmarks|cmd|examples)/") keep(paths[i])
		print "flowchart TD"
		for (i = 1; i <= NR; i++) {
			if (!kept[paths[i]]) continue
			if (module[paths[i]] != last) {
				if (last) print "    end"
				last = module[paths[i]]
				printf "    subgraph %s_module [\"module %s\"]\n", id(last), label(last)
			}
			printf "        %s[\"%s\"]\n", id(paths[i]), paths[i] == root ? "weir" : label(paths[i])
		}
		print "    end"
		for (i = 1; i <= NR; i++) {
			if (!kept[paths[i]]) continue
			n = split(imports[paths[i]], to, " ")
			for (j = 1; j <= n; j++) if (kept[to[j]]) printf "    %s --> %s\n", id(paths[i]), id(to[j])
		}
	}' <<<"$packages")

drawn=$(
	sed '/^```mermaid$/q' $page
	printf '%s\n' "$picture"
	sed '1,/^```mermaid$/d' $page | sed -n '/^```$/,$p'
)
if [ "${1-}" = --write ]; then
	printf '%s\n' "$drawn" >$page
else
	printf '%s\n' "$drawn"
fi
