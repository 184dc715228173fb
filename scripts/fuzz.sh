#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, each for FUZZTIME.
set -euo pipefail
cd "$(dirname "$0")/.."

fuzztime=${FUZZTIME:-20s}
found=0
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target for $fuzztime"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "$package"
		found=$((found + 1))
	done
done
echo "$found fuzz targets ran"
[ "$found" -gt 0 ]
