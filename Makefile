# Go, make and, for the race detector, a C compiler are all that is needed; for the board also
# Node.js 20 or later with npm.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The linter is built from source at this version, into Go's own caches; go.mod does not know it.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What has no race detector is built in one way, the program's own, so that the linter, the program
# and its tests share what is compiled.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

# A release is a tag. Elsewhere the version is the commit; where git can't say, what Go wrote down.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w $(if $(VERSION),-X main.version=$(VERSION))
BUILDVCS := $(if $(VERSION),,-buildvcs=false)

# How often test-long repeats what is random, how long it fuzzes, how long a benchmark runs.
COUNT ?= 50
FUZZTIME ?= 60s
BENCHTIME ?= 2s

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Whether the board can be built: "yes", or empty. NODE= on the command line leaves it out.
NODE := $(shell command -v npm >/dev/null && \
	node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2>/dev/null && echo yes)

.PHONY: build
build: board ## Build bin/andon, one static binary; 2 minutes the first time, then seconds
	@echo "building bin/andon; the first time it fetches and compiles its libraries: about 2 minutes"
	go build $(BUILDVCS) -ldflags '$(LDFLAGS)' -o bin/andon ./cmd/andon

# The files of the board, which go build embeds, are made again when something below ui/ changed.
DIST := internal/ui/dist/index.html
UI := $(shell find ui -name node_modules -prune -o -path ui/e2e -prune -o -type f -print 2>/dev/null)

.PHONY: board
board: $(if $(NODE),$(DIST)) ## Build the pages of the board, which make build puts into the binary
	@$(if $(NODE),,echo "the board is left out: its pages need Node.js 20 or later with npm. All else works.")

$(DIST): ui/node_modules/.installed $(UI)
	npm --prefix ui run build
	@touch $@

# npm keeps what it fetched in its own cache, so this is seconds where only node_modules is gone.
ui/node_modules/.installed: ui/package.json ui/package-lock.json
	@echo "fetching what the board is built with; 'make $(MAKECMDGOALS) NODE=' builds without it"
	npm --prefix ui ci --no-audit --no-fund --prefer-offline
	@touch $@

.PHONY: demo
demo: build ## Start a server with a simulated factory, and open its board, until Ctrl-C
	./bin/andon demo

.PHONY: cassandra
cassandra: ## A local Cassandra to try Andon on, until Ctrl-C; needs Java 17 and Maven
	go build -o bin/cassandra ./internal/tools/cassandra
	./bin/cassandra

# What takes longest starts first, and the others run concurrently, since much of it is waiting.
LONGEST := ./internal/store/cassandrastore ./test ./internal/store/dynamostore \
	./internal/store/pebblestore ./internal/people/keeper ./internal/enginetest ./internal/httpapi \
	./internal/cli/live

# The race detector has nothing to find where nothing is concurrent. The scripts of internal/cli start
# the program hundreds of times, which takes the detector longer than what the program does; test has
# it do the same with the detector. The rules of the house run in check.
PLAIN := ./internal/cli ./internal/cli/draw ./internal/cli/planner ./internal/cli/query \
	./internal/config ./internal/ingest/... ./internal/mapping ./internal/plan ./internal/seq \
	./internal/simulate ./internal/spell ./internal/store/cassandrastore/designs \
	./internal/store/cassandrastore/planning ./internal/store/pebblestore/layout/... ./internal/ui
RACED = $(filter-out $(shell go list $(PLAIN) ./internal/lint/...),$(shell go list $(LONGEST) ./...))

# A test that asks one thing after another is called TestSerial…, and runs without the detector, which
# would take it five to ten times as long; so is one that repeats under other designs or other seeds
# what the detector watches under one. What -run takes in one group -skip leaves out of the other, so
# each test is in one of them.
SERIAL := ^TestSerial[A-Z]
HAVE_SERIAL = $(patsubst %/,%,$(sort $(dir $(shell grep -rlE '^func TestSerial[A-Z]' \
	--include='*_test.go' --exclude-dir=node_modules .))))
SERIAL_IN = $(filter $(HAVE_SERIAL),$(LONGEST)) $(filter-out $(LONGEST),$(HAVE_SERIAL))

# The board: its types, its logic, and a real browser on the real program. What measures how smoothly
# it runs has the machine to itself.
.PHONY: test-board test-pages test-load
test-board: ## Test the board: its logic, and the program in a real browser; 4 minutes
	@failed=0; $(MAKE) --no-print-directory test-pages || failed=1; \
		$(MAKE) --no-print-directory test-load || failed=1; exit $$failed

test-pages: build
	$(if $(NODE),npm --prefix ui test)
	ui/e2e/run.sh

test-load: build
	ui/e2e/run.sh --project=load

.PHONY: screenshot
screenshot: build ## Take the picture of the README from the demo: docs/board.png
	ui/e2e/run.sh --project=picture

# What takes most of the CPU runs by itself: the suites with engines are slow enough as it is. What
# has no engine runs next to the pages of the board, since both wait for much of their time.
.PHONY: test
test: build race-ready ## Check, and run all tests, with the race detector; about 20 minutes
	@echo "make test: about 20 minutes on two cores; it starts Apache Cassandra (Java 17, 1.2 GB a node)," \
		"which Maven fetches once (70 MB). 'go test ./...' leaves the engines out: 3 minutes."
	go build -o bin/cassandra ./internal/tools/cassandra
	@failed=0; $(MAKE) --no-print-directory check || failed=1; \
		$(MAKE) --no-print-directory -k -j 2 test-pages test-plain || failed=1; \
		$(MAKE) --no-print-directory test-load || failed=1; \
		bin/cassandra -share $(MAKE) --no-print-directory test-engines || failed=1; exit $$failed

.PHONY: test-engines test-plain test-serial test-raced
test-engines:
	@failed=0; $(MAKE) --no-print-directory test-serial || failed=1; \
		$(MAKE) --no-print-directory test-raced || failed=1; exit $$failed

# Tests allocate much and keep little. To collect garbage a quarter as often saves a tenth of their
# CPU, and a quarter of it with the race detector. The programs that they start have Go's default.
TEST := GOGC=400 ANDON_ENGINES=1 go test -vet=off

test-plain:
	$(TEST) -p 1 $(PLAIN)

# The limit of a package is a backstop: tests wait for progress. What hangs ends before CI does, which
# gives 90 minutes, and so says where.
test-serial:
	$(TEST) -p 4 -parallel 6 -timeout 40m -run '$(SERIAL)' $(SERIAL_IN)

test-raced:
	CGO_ENABLED=1 $(TEST) -race -p 3 -parallel 4 -timeout 40m \
		-skip '$(SERIAL)' $(RACED)

.PHONY: test-long
test-long: race-ready ## Many random histories, crashes, fuzzing, a ring of three Cassandra nodes; hours
	CGO_ENABLED=1 ANDON_ENGINES=1 go test -race -timeout 6h -count $(COUNT) -run 'Histor|Crash|Kill|Random' ./...
	CGO_ENABLED=1 ANDON_ENGINES=1 ANDON_LONG=1 go test -race -timeout 1h -run 'Ring|TwoProcesses' ./...
	ANDON_ENGINES=1 ANDON_LONG=1 go test -timeout 2h -run "SerialStore|SerialHistories" \
		./internal/store/cassandrastore ./internal/store/dynamostore
	ANDON_LONG=1 go test -timeout 1h -run EveryStep ./internal/store/pebblestore
	ANDON_ENGINES=1 ANDON_LONG=1 go test -timeout 3h -run 'Kafka|Kinesis|Forward|Feed|Archive|KillPolicies' ./test
	ANDON_ENGINES=1 ANDON_LONG=1 go test -timeout 1h ./internal/archive ./internal/sink
	$(MAKE) build && ANDON_LONG=1 ui/e2e/run.sh --project=load
	@for package in $$(go list ./...); do \
		for fuzz in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			go test -run '^$$' -fuzz "^$$fuzz$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: check
check: ## Format, linter with go vet, the rules of the house, licences; minutes the first time
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './ui/*')); \
		[[ -z $$unformatted ]] || { echo "gofmt: these files want gofmt -w:"; echo "$$unformatted"; exit 1; }
	go run $(GOLANGCI) run
	go test ./internal/lint

.PHONY: bench
bench: ## Measure decoding, keys, appending beside the ceiling, queries, current states; minutes
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

.PHONY: update
update: ## Write the pages that are generated from the code
	go test ./internal/lint -run Page -update

.PHONY: race-ready
race-ready:
	@cc=$$(go env CC); command -v "$${cc%% *}" >/dev/null || { \
		echo "The race detector needs a C compiler, and there is no '$$cc': install gcc or clang," \
		     "or name another one with CC=."; exit 1; }

# What makes a release, built from source at these versions. Both stay in the user's cache, since
# they take minutes to build.
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
SYFT := github.com/anchore/syft/cmd/syft@v1.57.1
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/andon/tools
RELEASEFLAGS ?= --skip=publish

.PHONY: release
release: release-files ## Build a release into dist/, from the tag at HEAD (.goreleaser.yaml)
	@command -v buildah >/dev/null || { \
		echo "The image is built with buildah: apt-get install buildah."; exit 1; }
	@echo "building the tools of a release; the first time this takes 10 minutes or more"
	GOBIN=$(TOOLS) go install $(GORELEASER)
	GOBIN=$(TOOLS) go install $(SYFT)
	PATH=$(TOOLS):$$PATH goreleaser release --clean --parallelism 2 $(RELEASEFLAGS)

# What archives and packages have next to the program: it writes its own manual and completions.
.PHONY: release-files
release-files: board
	@test -e $(DIST) || { echo "A release has the board: install Node.js 20 or later."; exit 1; }
	rm -rf bin/release && mkdir -p bin/release/completions
	go build -ldflags '$(LDFLAGS)' -o bin/release/andon ./cmd/andon
	bin/release/andon man bin/release/man
	cd bin/release && ./andon completion bash > completions/andon.bash && \
		./andon completion zsh > completions/_andon && \
		./andon completion fish > completions/andon.fish && \
		./andon completion powershell > completions/andon.ps1
