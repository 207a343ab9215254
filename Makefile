# Everyday commands. CI runs .ci/run, which does more.

FUZZTIME    ?= 5s
SOAK        ?= 10m
PACKAGES    ?= ./...
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI    ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

.PHONY: all test race lint fuzz bench bench-report bench-postgres bench-against soak cover mutants ci interop dist dependencies screenshots

all: lint test

test:
	go test $(PACKAGES)

race:
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -race $(PACKAGES)

# Formatting, vet, staticcheck, golangci-lint (.golangci.yml) and the architecture. golangci-lint is built the first time, which takes minutes.
lint:
	@unformatted=$$(find . -name '*.go' -not -path '*/testdata/*' -not -path './.*' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet $(PACKAGES)
	go run $(STATICCHECK) $(PACKAGES)
	go run $(GOLANGCI) run $(PACKAGES)
	go test -count=1 ./internal/archtest

# Every fuzz target for FUZZTIME: make fuzz FUZZTIME=1m PACKAGES=./internal/jsonl
fuzz:
	.ci/fuzz $(FUZZTIME) $(PACKAGES)

# The pictures of README.md, of the demo's sessions: pages in the installed chromium, and the recording of the commands.
screenshots:
	dir=$$(mktemp -d) && go test -count=1 ./server -run TestLooks -args -pictures $$dir && \
	cp $$dir/fork-light.png docs/viewer-session.png && cp $$dir/sessions-light.png docs/viewer-sessions.png && rm -r $$dir
	go test -count=1 ./cmd/treeline -run TestRecording -args -record

# A table of measurements, each with its limit and a baseline from the same run.
bench:
	go run ./internal/bench

# docs/benchmarks.md: all measurements beside their baselines, among them pi's own session manager (node, npm) and rg. Groups that would begin after
# 18 minutes are listed as not measured.
# PI=/folder keeps pi's packages: make bench-report PI=/tmp/pi
bench-report:
	go run ./internal/bench -report docs/benchmarks.md -within 18m -pi "$(PI)" $(BENCHFLAGS)

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

# A release in the folder dist: archives for all systems, Debian packages, a Homebrew formula, checksums. It is made twice and compared.
# make dist DISTFLAGS='-only linux/amd64'
dist:
	go run ./internal/dist -check $(DISTFLAGS)

# docs/dependencies.md: the modules of go.mod with licence, reason and cost.
dependencies:
	go run ./internal/dependencies -o docs/dependencies.md

ci:
	.ci/run
