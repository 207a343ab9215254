# Everyday commands. CI runs .ci/run, which does more.

FUZZTIME    ?= 5s
SOAK        ?= 10m
PACKAGES    ?= ./...
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all test race lint fuzz bench bench-postgres bench-against soak cover mutants ci interop

all: lint test

test:
	go test $(PACKAGES)

race:
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -race $(PACKAGES)

# Formatting, vet, staticcheck and the architecture.
lint:
	@unformatted=$$(find . -name '*.go' -not -path '*/testdata/*' -not -path './.*' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet $(PACKAGES)
	go run $(STATICCHECK) $(PACKAGES)
	go test -count=1 ./internal/archtest

# Every fuzz target for FUZZTIME: make fuzz FUZZTIME=1m PACKAGES=./internal/jsonl
fuzz:
	.ci/fuzz $(FUZZTIME) $(PACKAGES)

# A table of measurements, each with its limit and a baseline from the same run.
bench:
	go run ./internal/bench

# Logs in PostgreSQL beside bare statements. It starts a server of its own from the installed binaries.
bench-postgres:
	go run ./internal/bench -large -run 'postgres|archive'

# The working tree compared with a revision: make bench-against REV=main BENCHFLAGS='-quick -run search'
bench-against:
	go run ./internal/bench -against $(REV) $(BENCHFLAGS)

# Kills, agents that write beside, crashes, faults, oracles, conversions, database servers that fail, and fuzzing, with other seeds each time.
# A table at the end says what was done and lost: make soak SOAK=1h SOAKFLAGS='-run kill'
soak:
	go run ./internal/soak -time $(SOAK) $(SOAKFLAGS)

# Compares this library with the real pi and oh-my-pi, installed from npm in a temporary folder (1.5 GB), on the same files:
# random trees, lists and recent sessions of random folders, contexts, conversions, prompt histories. Then the real Claude Code and
# Codex resume random sessions and sessions that this library wrote or converted; what they send to a stand-in for their providers
# is what this library says. With -installed DIR the program keeps the packages (2.3 GB).
interop:
	go run ./internal/interop

# Changes the program in a hundred places, one at a time. A change that no test notices fails: make mutants MUTANTS='-run durable'
mutants:
	go run ./internal/mutants $(MUTANTS)

# Coverage of each package by all tests. The core has to have 90 %.
cover:
	go test -coverprofile=coverage.out -coverpkg=./... $(PACKAGES)
	.ci/cover coverage.out
	go tool cover -html=coverage.out -o coverage.html

ci:
	.ci/run
