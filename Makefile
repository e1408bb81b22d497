# Every target prepares what it needs: on a fresh machine, Python 3.11+ and make are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SERVING := $(VENV)/.serving
LOWEST := .venv-lowest
PYTEST_ARGS ?=
# More tests at a time than cores, because they wait for processes and leases much of the time: three on two cores, and
# four of the quick ones, which start no browser and no database.
CORES := $(shell nproc 2>/dev/null || echo 2)
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell echo $$(( $(CORES) * 3 / 2 )))
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# Images of Python often say that no bytecode is kept. Every test process would then compile all tests, and every
# command that a test starts the whole program.
unexport PYTHONDONTWRITEBYTECODE
# What `make test` leaves out; pyproject.toml explains each marker.
QUICK := not (browser or postgres or outside or torture or layers or slow)

.DEFAULT_GOAL := help
.PHONY: help setup serve test-lowest docs release test test-all check format-check lint types imports fmt demo bench bench-peers torture redteam compare lock audit dist clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with the locked dependencies (the other targets do it themselves)

$(READY): requirements/dev.txt pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" scripts/setup.sh $(VENV) requirements/dev.txt $(READY)

$(SERVING): requirements/serve.txt pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" scripts/setup.sh $(VENV) requirements/serve.txt $(SERVING)

serve: $(if $(wildcard $(READY)),$(READY),$(SERVING)) ## Start the gateway on a copy of the demo project and open its page (SERVE_ARGS="--port 0 --root DIR")
	@$(BIN)/toolgate serve --coding --root "$$(scripts/demo_project.sh)" $(SERVE_ARGS)

demo: $(READY) ## See a tool call, a denial and a truncation in the terminal
	@$(BIN)/python scripts/demo.py

test: $(READY) ## Run the quick tests: no browser, PostgreSQL or kill loops (PYTEST_ARGS="-k grep -x" to choose)
	@$(PYTEST) -n $(shell echo $$(( $(CORES) * 2 ))) -m "$(QUICK)" $(PYTEST_ARGS)

test-all: $(READY) ## Run every test
	@$(PYTEST) $(PYTEST_ARGS)

test-lowest: $(READY) ## Run the quick tests with the lowest versions that pyproject.toml allows
	@BIN=$(BIN) scripts/lowest.sh $(LOWEST)
	@$(LOWEST)/bin/python -m pytest -n auto --dist worksteal -m "$(QUICK)" $(PYTEST_ARGS)

check: format-check lint types imports test-all ## All that "clean" means: format, lint, types, import contracts, every test

format-check: $(READY) ## Is everything formatted?
	@$(BIN)/ruff format --check .

lint: $(READY) ## ruff
	@$(BIN)/ruff check .

types: $(READY) ## mypy, strict
	@$(BIN)/mypy

imports: $(READY) ## The rooms import only downwards
	@$(BIN)/lint-imports --no-cache

fmt: $(READY) ## Format, and fix what ruff can fix
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(READY) ## Measure against the floors, as ratios within one run (BENCH_ARGS="--only dispatch --rounds 3")
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-peers: $(READY) ## The same beside other projects, each installed into an environment of its own (.peers/)
	@$(BIN)/python -m benchmarks --peers $(BENCH_ARGS)

torture: $(READY) ## The slow suites, large (TOOLGATE_TORTURE=50 makes them larger; make test-all runs them at 1)
	@TOOLGATE_TORTURE="$${TOOLGATE_TORTURE:-20}" $(BIN)/python -m pytest -m torture --timeout 3600 $(PYTEST_ARGS)

redteam: $(READY) ## Attack an installed wheel as every user in every sandbox layer (REDTEAM_ARGS="--only git")
	@$(BIN)/python -m redteam $(REDTEAM_ARGS)

compare: $(READY) ## The same faults and attacks against Toolgate and other projects, counted (COMPARE_ARGS="--only paths --quick")
	@$(BIN)/python -m compare $(COMPARE_ARGS)
	@$(BIN)/python -m compare.docs

lock: $(READY) ## Lock the dependencies anew from pyproject.toml
	@BIN=$(BIN) scripts/lock.sh

audit: $(READY) ## Look the locked packages up in the databases of known vulnerabilities (needs a network)
	@PYTHON=$(BIN)/python scripts/audit.sh

dist: $(READY) ## Build the wheel and the source archive, with their bill of materials and checksums, into dist/
	@rm -rf dist && $(BIN)/python -m hatchling build
	@wheel=$$(ls dist/*.whl) && $(BIN)/python scripts/sbom.py "$$wheel" >"$${wheel%%-py3-none-any.whl}.cdx.json"
	@cd dist && sha256sum * >SHA256SUMS && ls

docs: $(READY) ## Build the documentation site into site/ (DOCS_ARGS=serve shows it while you write)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(if $(DOCS_ARGS),$(DOCS_ARGS),build --strict --quiet)

release: $(READY) ## Build a release, check it, install it into clean environments, and print its changelog section
	@$(MAKE) --no-print-directory dist
	@$(BIN)/python scripts/release.py

clean: ## Remove the environments, caches and measurements
	@rm -rf $(VENV) $(LOWEST) site .audit .peers .npm screenshots .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache benchmarks/.data build dist
	@find src tests benchmarks compare scripts -name __pycache__ -type d -prune -exec rm -rf {} +
