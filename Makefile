# Every target sets up what it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
# Parallel test processes: `make test WORKERS=0` runs in one.
WORKERS ?= auto
# Any pytest arguments: `make test PYTEST_ARGS=tests/core`.
PYTEST_ARGS ?=
# How long `make fuzz` searches (seconds).
FUZZ_SECONDS ?= 60
PIP_TOOLS := pip-tools==7.6.2
GENAI_PRICES := genai-prices

DEV := .venv/.stamp
PROTO := .venv-proto/.stamp
LOCK := .venv-lock/.stamp
JUDGES := .venv-judges/.stamp
FUZZ := .venv-fuzz/.stamp
PEERS := .venv-peers/.stamp
GATEWAYS := .venv-gateways/.stamp
PRICES := .venv-prices/.stamp
TOOLCHAINS := .venv-toolchains/.stamp
SCHEMA := .venv-schema/.stamp
GO_TOOLS := .go-tools/.stamp
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-input
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/pip-compile --quiet --upgrade --allow-unsafe \
	--generate-hashes --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

# The test of generated code generates again with this interpreter and compares.
export PROTO_PYTHON := $(CURDIR)/.venv-proto/bin/python
export PYTHONPATH := server:clients/python:.
# Where the environment forbids bytecode, every process that a test starts would compile the whole server again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint types suite judges gateways fuzz fuzz-api torture chaos peers pictures prices toolchains fmt proto \
	lint-go proto-go lock wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEV) ## start a server, prune a long session, show the saving (CONVERSATION=FILE for your own)
	.venv/bin/python -m bench.demo $(if $(CONVERSATION),--conversation "$(CONVERSATION)")

test: lint types suite judges gateways ## everything a change must pass: lint, types, the suite, judges, gateways

lint: $(DEV) ## ruff, the import contracts, buf
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports --no-cache
	.venv/bin/buf lint proto

types: $(DEV) ## mypy --strict
	.venv/bin/mypy

suite: $(DEV) $(PROTO) ## the tests alone (PYTEST_ARGS=tests/core for some, WORKERS=0 for one process)
	.venv/bin/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

judges: $(JUDGES) ## the providers' own SDKs judge what comes out
	.venv-judges/bin/python -m pytest -n $(WORKERS) --confcutdir=tests/judges tests/judges

gateways: $(GATEWAYS) $(DEV) ## Envoy, LiteLLM and the like themselves, set up as docs/integrations.md says
	if command -v npm >/dev/null; then cd tests/plugged/portkey && npm ci --silent --ignore-scripts; fi
	GATEWAYS_PYTHON="$(CURDIR)/.venv-gateways/bin/python" .venv/bin/python -m pytest -n $(WORKERS) tests/plugged

fuzz: $(FUZZ) ## search for bodies that break a dialect (FUZZ_SECONDS=60)
	.venv-fuzz/bin/python tests/fuzz/fuzz_bodies.py --seconds $(FUZZ_SECONDS)

fuzz-api: $(DEV) $(SCHEMA) ## try the JSON endpoints against their description, with schemathesis
	SCHEMATHESIS=.venv-schema/bin/schemathesis .venv/bin/python tests/fuzz/fuzz_api.py

torture: $(DEV) ## kill the service under load, take its database and its disk away, count what is lost
	.venv/bin/python -m bench.torture

chaos: $(DEV) ## every fault in turn against a real service: what callers saw, what is lost, when it is well again
	.venv/bin/python -m bench.chaos

peers: $(PEERS) ## the same conversations through langchain, litellm and headroom: time, size, validity
	.venv-peers/bin/python -m bench.peers

pictures: $(DEV) ## take the pictures of the README again (docs/pictures; wants Chromium)
	PINCH_PICTURES=1 .venv/bin/python -m pytest tests/web/test_pictures.py

prices: $(PRICES) ## write the table of prices anew (read the difference before you commit it)
	.venv-prices/bin/python -m bench.prices

toolchains: $(TOOLCHAINS) ## Go and Node in .venv-toolchains, for a machine that has neither (.ci/run uses them)

fmt: $(DEV) ## format and mend what can be mended
	.venv/bin/ruff check --fix
	.venv/bin/ruff format
	.venv/bin/buf format --write proto

proto: $(PROTO) $(DEV) ## generate Python's code from proto/, and TypeScript's where npm is
	.venv-proto/bin/python proto/generate.py
	if command -v npm >/dev/null; then cd clients/typescript && npm ci --silent --ignore-scripts \
		&& PATH="$(CURDIR)/.venv/bin:$$PATH" npm run --silent generate; fi

lint-go: $(GO_TOOLS) ## gofmt, go vet and staticcheck over clients/go
	cd clients/go && gofmt -d . | (! grep .) && go vet ./... && ../../.go-tools/staticcheck ./...
	cd clients/go/examples/gateways && go vet ./... && ../../../../.go-tools/staticcheck ./...

proto-go: $(GO_TOOLS) $(DEV) ## generate clients/go/pinchv1 from proto/
	PATH="$(CURDIR)/.go-tools:$$PATH" .venv/bin/buf generate --template proto/buf.gen.go.yaml

lock: $(LOCK) ## resolve requirements/*.txt anew: versions and hashes
	$(COMPILE) --extra server --extra postgres --extra otel --extra extract --extra top --extra dev \
		--output-file requirements/dev.txt pyproject.toml
	$(COMPILE) --extra server --extra postgres --extra otel --extra extract --constraint requirements/dev.txt \
		--output-file requirements/server.txt pyproject.toml
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/build.txt requirements/build.in
	$(COMPILE) --output-file requirements/proto.txt requirements/proto.in
	$(COMPILE) --output-file requirements/toolchains.txt requirements/toolchains.in
	$(COMPILE) --output-file requirements/schema.txt requirements/schema.in
	$(COMPILE) --extra server --extra judges --output-file requirements/judges.txt pyproject.toml
	$(COMPILE) --extra gateways --output-file requirements/gateways.txt pyproject.toml
	$(COMPILE) --extra server --extra fuzz --output-file requirements/fuzz.txt pyproject.toml
	$(COMPILE) --extra server --extra peers --output-file requirements/peers.txt pyproject.toml

wheel: $(DEV) ## build dist/*.whl
	.venv/bin/python -m build --no-isolation --wheel

clean: ## remove the environments and everything made
	rm -rf .venv .venv-proto .venv-lock .venv-judges .venv-gateways .venv-fuzz .venv-peers .venv-prices .venv-schema .venv-toolchains .go-tools dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .fuzz \
		.import_linter_cache .coverage .coverage.* htmlcov
	rm -rf clients/typescript/{node_modules,build,dist} tests/plugged/portkey/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(DEV): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv
	.venv/bin/python $(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	.venv/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(PROTO): requirements/proto.txt
	$(PYTHON) -m venv --clear .venv-proto
	.venv-proto/bin/python $(PIP_INSTALL) --require-hashes -r requirements/proto.txt
	@touch $@

$(JUDGES): requirements/judges.txt
	$(PYTHON) -m venv --clear .venv-judges
	.venv-judges/bin/python $(PIP_INSTALL) --require-hashes -r requirements/judges.txt
	@touch $@

$(FUZZ): requirements/fuzz.txt
	$(PYTHON) -m venv --clear .venv-fuzz
	.venv-fuzz/bin/python $(PIP_INSTALL) --require-hashes -r requirements/fuzz.txt
	@touch $@

$(GATEWAYS): requirements/gateways.txt
	$(PYTHON) -m venv --clear .venv-gateways
	.venv-gateways/bin/python $(PIP_INSTALL) --require-hashes -r requirements/gateways.txt
	@touch $@

$(PEERS): requirements/peers.txt
	$(PYTHON) -m venv --clear .venv-peers
	.venv-peers/bin/python $(PIP_INSTALL) --require-hashes -r requirements/peers.txt
	@touch $@

# Not locked: the newest prices are what a table is written anew for.
$(PRICES): bench/prices.py
	$(PYTHON) -m venv --clear .venv-prices
	.venv-prices/bin/python $(PIP_INSTALL) '$(GENAI_PRICES)'
	@touch $@

$(TOOLCHAINS): requirements/toolchains.txt
	$(PYTHON) -m venv --clear .venv-toolchains
	.venv-toolchains/bin/python $(PIP_INSTALL) --require-hashes -r requirements/toolchains.txt
	@touch $@

$(SCHEMA): requirements/schema.txt
	$(PYTHON) -m venv --clear .venv-schema
	.venv-schema/bin/python $(PIP_INSTALL) --require-hashes -r requirements/schema.txt
	@touch $@

$(GO_TOOLS): clients/go/tools/go.mod clients/go/tools/go.sum
	GOBIN="$(CURDIR)/.go-tools" go -C clients/go/tools install tool
	@touch $@

$(LOCK): Makefile
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python $(PIP_INSTALL) '$(PIP_TOOLS)'
	@touch $@
