# The commands of this repository. `make` alone lists them.

GO    ?= go
TOOLS := $(GO) tool -modfile=tools.mod

FUZZTIME  ?= 20s
BENCHTIME ?= 1s
SIMSEEDS  ?= 20000

.DEFAULT_GOAL := help
.PHONY: help run test lint format bench fuzz sim chaos

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

run: ## serve a synthetic theatre that is on sale; needs nothing but Go
	$(GO) run ./cmd/rowlock demo

test: ## vet, then every test, shuffled, under the race detector
	./scripts/test.sh

lint: ## gofumpt and staticcheck, at the versions pinned in tools.mod
	@unformatted="$$($(TOOLS) gofumpt -l .)"; if [ -n "$$unformatted" ]; then echo "not gofumpt-clean:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOLS) staticcheck ./...

format: ## gofumpt every file in place
	$(TOOLS) gofumpt -w .

bench: ## Go benchmarks, then the load scenarios of docs/PERFORMANCE.md
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...
	$(GO) run ./cmd/rowlock bench

fuzz: ## each fuzz target for FUZZTIME (20s)
	FUZZTIME=$(FUZZTIME) ./scripts/fuzz.sh

sim: ## the whole server in virtual time, SIMSEEDS seeds (20000) of faults
	SIMSEEDS=$(SIMSEEDS) $(GO) test -timeout 6h -v -run '^TestSimulation$$' ./test/sim

chaos: ## the races over and over, and the server killed under load; long
	./scripts/chaos.sh
