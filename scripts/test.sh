#!/usr/bin/env bash
# Vets and tests everything. What the tests need besides Go is installed when this runs as root on a
# Debian, and otherwise asked for in one line.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
command -v chromium >/dev/null || missing+=(chromium) # the browser tests
command -v curl >/dev/null || missing+=(curl) # the walk of the README
command -v gcc >/dev/null || missing+=(gcc libc6-dev) # the race detector

if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing: ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null ||
		echo "could not install: ${missing[*]}" >&2
fi
command -v chromium >/dev/null ||
	echo "chromium is missing, and the browser tests will fail: install it (apt-get install chromium)" >&2

race=(-race)
if ! command -v gcc >/dev/null; then
	echo "gcc is missing: testing WITHOUT the race detector (apt-get install gcc libc6-dev)" >&2
	race=()
fi

go vet ./...
go test "${race[@]}" -shuffle=on -timeout 30m "$@" ./...

# Cutting the power hundreds of times takes minutes under the race detector, which finds nothing more in it,
# and of the simulation's seeds it leaves time for few. Here are the others.
if [ ${#race[@]} -gt 0 ]; then
	go test -run 'PowerCut|TheCuts|AFaultAtAny|AReadThat|ADiskThat|WhatIsRemembered' -timeout 10m ./internal/store/sqlite
	go test -run '^TestSimulation$' -timeout 30m ./test/sim
fi
