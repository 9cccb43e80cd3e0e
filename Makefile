# Every command of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup prepare demo test quick test-long fmt lint types accept bench docs clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Punctual and what it needs into $(VENV) (once, about two minutes)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@echo "compiling the kernels (once)"
	@$(BIN)/python -m punctual.kernel.warm
	@touch $(STAMP)

setup: $(STAMP) ## a virtual environment in .venv with everything pinned

prepare: $(STAMP) ## make Spark start faster on this machine (Java 17): an archive of classes, once
	@$(BIN)/python -m punctual.runtime.prepare

demo: $(STAMP) ## run a real program on real trades and print its answers
	@$(BIN)/python examples/demo.py

quick: $(STAMP) lint types ## everything that needs no JVM, in some nine minutes
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not spark and not long"

test: $(STAMP) lint types ## the whole suite, in less than half an hour
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not spark and not long"
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "spark and not long"

test-long: $(STAMP) ## what needs longer
	@$(BIN)/python -m pytest -m "long"

fmt: $(STAMP) ## format the code
	@$(BIN)/ruff format src tests benchmarks examples
	@$(BIN)/ruff check --fix src tests benchmarks examples

lint: $(STAMP)
	@$(BIN)/ruff check src tests benchmarks examples

types: $(STAMP)
	@$(BIN)/mypy

accept: $(STAMP) ## rewrite the expectations of the cases: make accept [CASE=tests/cases/run/x.cqt]
	@test -z "$$CI" || { echo "make accept does not run in CI"; exit 1; }
	@$(BIN)/python -m tests.cqt.accept $(CASE)

bench: $(STAMP) ## every benchmark: tables, JSON and pictures under benchmarks/results
	@$(BIN)/python -m benchmarks

clean: ## remove what the commands made
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build
