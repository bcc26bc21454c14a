# What a person types here. Each target installs what it needs by itself: a Node (any from 18 on, with npm) is all that has
# to be there; the one that logfleet runs on comes as a package.

.DEFAULT_GOAL := help
.PHONY: help demo check test soak contract lint format generate verify bench tools manifests clean

installed := node_modules/.package-lock.json
# The checkout's own Node and programs go first.
export PATH := $(CURDIR)/node_modules/node/bin:$(CURDIR)/node_modules/.bin:$(PATH)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{ printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(installed) ## watch a canary stop a rollout over 80 simulated collectors, the next one go through, and an export of their logs
	@npm run --silent demo

check: $(installed) ## check style, types and generated files, and run the unit tests: a minute, for each change
	@node scripts/test.ts check

test: $(installed) ## check style, types and generated files, and run all tests but those of soak: for each landing
	@node scripts/test.ts

soak: $(installed) ## run thousands of histories, random pages, kills and mutants: for a release, and for changes to rules or oracles
	@node scripts/test.ts soak

contract: $(installed) ## hold the simulator to docs/service.md, or with BASE_URL=, ACCESS_ID=, ACCESS_KEY= a deployment
	@node scripts/contract.ts

lint: $(installed) ## check style and format; changes nothing
	@biome check --error-on-warnings
	@tsc -p .

format: $(installed) ## bring style and format in order, where that is safe
	@biome check --write

generate: $(installed) ## make types and the reference page from crds/
	@node scripts/generate.ts

verify: $(installed) ## fail if a generated file is not what `make generate` makes
	@node scripts/verify.ts

bench: $(installed) ## measure; `make bench BENCH=rollout` measures one thing
	@npm run --silent bench -- $(BENCH)

tools: $(installed) ## get etcd, kube-apiserver, kubectl and an S3 gateway for the tests, into a cache outside the checkout
	@node scripts/tools.ts

manifests: $(installed) ## print what `kubectl apply -k manifests/cluster-wide` would install
	@node bin/logfleet.js manifests

clean: ## remove what was installed and made in the checkout (the cache of `make tools` stays)
	rm -rf node_modules coverage .logfleet

# npm warns about Node versions and install scripts, which says nothing to a newcomer: what is missing is said below.
$(installed): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo 'npm is missing: install Node (https://nodejs.org), any version from 18 on.' >&2; exit 1; }
	@echo 'Installing packages (npm ci) ...' >&2
	@npm ci --loglevel=error >/dev/null
	@test -x node_modules/node/bin/node || npm rebuild node --loglevel=error --ignore-scripts=false >/dev/null
	@test -x node_modules/node/bin/node || { echo 'npm installed no Node 24: its install scripts are switched off. Run "npm rebuild node --ignore-scripts=false".' >&2; exit 1; }
	@touch $@
