# Builds what is deployed and released. The same input gives the same bytes: no path, clock or revision goes into them.
# "make help" lists what there is.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION ?= dev
OUT     ?= dist
# ARCH is the functions', as the template's Architectures says: arm64 or amd64.
ARCH    ?= arm64

functions := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
cli       := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
agents    := amd64 arm64

export CGO_ENABLED := 0
build := go build -trimpath -buildvcs=false -mod=readonly
strip := -s -w -buildid=
# Lambda's runtime API needs no RPC, which saves a megabyte.
lambda := -tags lambda.norpc -ldflags '$(strip)'

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: build
build: $(functions:%=$(OUT)/functions/%.zip) ## Build every function's archive, and print their hashes
	@cd $(OUT)/functions && sha256sum *.zip | tee SHA256SUMS

# An archive holds one file of a fixed date.
$(OUT)/functions/%.zip: FORCE
	@mkdir -p $(OUT)/functions/$*
	GOOS=linux GOARCH=$(ARCH) $(build) $(lambda) -o $(OUT)/functions/$*/bootstrap ./functions/$*
	@chmod 755 $(OUT)/functions/$*/bootstrap
	@TZ=UTC touch -t 198001010000 $(OUT)/functions/$*/bootstrap
	@rm -f $@ && TZ=UTC zip -Xqj $@ $(OUT)/functions/$*/bootstrap

# What "sam build" calls, with the function's logical id; its directory is the same word in small letters.
build-%:
	GOOS=linux GOARCH=$(ARCH) $(build) $(lambda) -o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell tr A-Z a-z <<<'$*')

.PHONY: cli
cli: $(cli:%=$(OUT)/cli/%/bulkhead) ## Build the command line for each system

$(OUT)/cli/%/bulkhead: FORCE
	@mkdir -p $(@D)
	GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)) $(build) -ldflags '$(strip) -X github.com/bulkhead-ecs/bulkhead/cmd/bulkhead/internal/cli.Version=$(VERSION)' -o $@ ./cmd/bulkhead

.PHONY: agent
agent: $(agents:%=$(OUT)/%/bulkhead-agent) $(agents:%=$(OUT)/%/bulkhead-agent-nvml) ## Build the host agent for both architectures

$(OUT)/%/bulkhead-agent: FORCE
	GOOS=linux GOARCH=$* $(build) -ldflags '$(strip) -X github.com/bulkhead-ecs/bulkhead/hostagent/internal/cli.Version=$(VERSION)' -o $@ ./hostagent/cmd/bulkhead-agent

# The NVML child alone has cgo, and so needs a C compiler for its machine.
cc_amd64 ?= x86_64-linux-gnu-gcc
cc_arm64 ?= aarch64-linux-gnu-gcc
$(OUT)/%/bulkhead-agent-nvml: FORCE
	@command -v $(cc_$*) >/dev/null || { echo "no $(cc_$*): install it (Debian: gcc-$(if $(filter amd64,$*),x86-64,aarch64)-linux-gnu) or give cc_$*=" >&2; exit 1; }
	CGO_ENABLED=1 CC=$(cc_$*) GOOS=linux GOARCH=$* $(build) -ldflags '$(strip)' -o $@ ./hostagent/cmd/bulkhead-agent-nvml

.PHONY: packages
packages: agent ## Make rpm and deb of the host agent (needs nfpm)
	@[[ '$(VERSION)' =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || { echo "give VERSION=1.2.3" >&2; exit 1; }
	@mkdir -p $(OUT)/packages
	for arch in $(agents); do for kind in rpm deb; do \
	  ARCH=$$arch VERSION=$(VERSION) SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-315532800} nfpm package -f infra/agent/nfpm.yaml -p $$kind -t $(OUT)/packages/; done; done

.PHONY: test
test: ## Run every test
	CGO_ENABLED=1 go test ./...

.PHONY: vulnerabilities
vulnerabilities: ## Look for known faults in what is used
	bash infra/release/vulnerabilities.sh

.PHONY: licences
licences: ## Hold docs/licences.md against the modules that are used
	go test ./tests/release -run Licences

.PHONY: release
release: ## Make a release's files: VERSION=1.2.3
	bash infra/release/release.sh '$(VERSION)' '$(OUT)'

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(OUT) .aws-sam

.PHONY: FORCE
FORCE:
