#!/usr/bin/env bash
# The long tests: the server killed under load ROWLOCK_TEST_KILLS times (200), then every race
# ROUNDS times (20), each on a database of its own that is audited afterwards. Ends at the first breach.
set -euo pipefail
cd "$(dirname "$0")/.."

ROWLOCK_TEST_KILLS=${ROWLOCK_TEST_KILLS:-200} go test -count=1 -timeout 2h -run Promise7 ./cmd/rowlock ./internal/store/...

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -race -o "$bin/rowlock" ./cmd/rowlock 2>/dev/null || go build -o "$bin/rowlock" ./cmd/rowlock
rounds=${ROUNDS:-20}
for ((i = 1; i <= rounds; i++)); do
	echo "== races, round $i of $rounds"
	"$bin/rowlock" race >"$bin/report" 2>"$bin/progress" || { cat "$bin/report" "$bin/progress"; exit 1; }
	tail -n 1 "$bin/report"
done
