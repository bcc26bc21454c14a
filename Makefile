# Commands for developers. Each target installs the packages that it needs. The machine needs Node 18 or newer with npm; the
# Node that runs logfleet is one of the packages.

.DEFAULT_GOAL := help
.PHONY: help demo check test soak contract lint format generate verify bench tools docs manifests package base-images release clean

installed := node_modules/.package-lock.json
# The Node and the programs of the checkout come first.
export PATH := $(CURDIR)/node_modules/node/bin:$(CURDIR)/node_modules/.bin:$(PATH)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{ printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(installed) ## watch a stopped rollout, a completed rollout and an export, all simulated
	@npm run --silent demo

check: $(installed) ## check style, types, imports and generated files, and run the unit tests: a minute, for each change
	@node scripts/test.ts check

test: $(installed) ## check style, types, imports and generated files, and run all tests but those of soak: for each landing
	@node scripts/test.ts

soak: $(installed) ## run thousands of histories, random pages, kills and mutants: for a release, and for changes to rules or oracles
	@node scripts/test.ts soak

contract: $(installed) ## test the simulator against docs/service.md; BASE_URL=, ACCESS_ID= and ACCESS_KEY= select a deployment instead
	@node scripts/contract.ts

lint: $(installed) ## check style, format, types and imports, without changes
	@npm run --silent lint

format: $(installed) ## correct style and format where that is safe
	@biome check --write

generate: $(installed) ## generate types and the reference page from crds/
	@node scripts/generate.ts

verify: $(installed) ## check that generated files are up to date
	@node scripts/verify.ts

bench: $(installed) ## run benchmarks; `make bench BENCH=rollout` runs one
	@npm run --silent bench -- $(BENCH)

tools: $(installed) ## install etcd, kube-apiserver, kubectl, Helm, promtool, Chromium and emulators of object stores for tests, in a cache outside the checkout
	@node scripts/tools.ts

docs: $(installed) ## build the documentation as a static site in out/docs/; `make docs BASE=/logfleet/` names its path on the web server
	@BASE="$(BASE)" node scripts/docs-site.ts

manifests: $(installed) ## print the manifests of a cluster-wide installation
	@node bin/logfleet.js manifests

package: $(installed) ## make the npm package, the tarballs with Node, and the layer of the image, in out/
	@node scripts/package.ts

base-images: $(installed) ## set the digests of the base images in the Dockerfile to those of the newest images
	@node scripts/base-images.ts

release: $(installed) ## check the checkout and make all files of a release: `make release VERSION=1.2.3 URL=https://HOST/FOLDER`
	@node scripts/release.ts "$(VERSION)" "$(URL)"

clean: ## remove packages and generated folders from the checkout, but not the cache of `make tools`
	rm -rf node_modules coverage .logfleet out

# Hides warnings of npm about Node versions and install scripts. The messages below name what is missing.
$(installed): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo 'npm is missing: install Node (https://nodejs.org), any version from 18 on.' >&2; exit 1; }
	@echo 'Installing packages (npm ci) ...' >&2
	@npm ci --loglevel=error >/dev/null
	@test -x node_modules/node/bin/node || npm rebuild node --loglevel=error --ignore-scripts=false >/dev/null
	@test -x node_modules/node/bin/node || { echo 'npm installed no Node 24: its install scripts are switched off. Run "npm rebuild node --ignore-scripts=false".' >&2; exit 1; }
	@touch $@
