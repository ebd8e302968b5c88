# make build   the program, bin/reprise
# make test    all tests
# make lint    vet, staticcheck, gofmt
# make accuracy docs/accuracy.md: every bundled measurement simulated again (half a minute)
# make docs    pages that are generated from the code
# make bench   time whole runs (bench/out/bench.json)
# make fuzz    every fuzz target for FUZZTIME
# make race    the tests of packages with goroutines, under the race detector
# make integrations  the tests of the Python packages, without a server
# make e2e     the tests on a real vLLM for CPUs (e2e/README.md)
# make clients  real load tools, from the package index, against the simulated server
# make conformance  the oracle cases, and those below REPRISE_ORACLE

GO       ?= go
FUZZTIME ?= 10s
COMMIT   := $(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null)
CONCURRENT = ./cluster/... ./simulate/... ./trace/... ./record/... ./live/... ./rundir/... ./config/... ./cmd/... ./serve/...

.PHONY: build test lint docs accuracy bench fuzz race conformance integrations clients e2e

build:
	$(GO) build -ldflags '-X main.commit=$(COMMIT)' -o bin/reprise ./cmd/reprise

test:
	$(GO) test ./...

lint:
	$(GO) vet ./...
	$(GO) vet -tags e2e ./e2e
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags e2e ./e2e
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi

docs:
	$(GO) generate ./...

bench:
	$(GO) run ./bench

# go test runs one fuzz target at a time.
fuzz:
	@set -e; grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file" | while read -r target; do \
			echo "$$(dirname "$$file") $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")" || exit 1; \
		done || exit 1; \
	done

race:
	$(GO) test -race $(CONCURRENT)

clients:
	REPRISE_CLIENTS=$${REPRISE_CLIENTS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/reprise/clients} $(GO) test -count=1 -v -run RunsUnchanged ./serve

conformance:
	$(GO) test -count=1 ./conformance/...

# These two print one line and pass where they miss Python 3.11, gcc or a package index.
integrations:
	integrations/test.sh bin/venv

e2e:
	$(GO) test -tags e2e -count=1 -v -timeout 30m ./e2e

# The page of errors and its figures, from the bundled measurements.
accuracy:
	$(GO) run ./accuracy/internal/page docs
