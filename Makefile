# `make demo` and `make test` work on a fresh machine; each makes .venv first when it is not there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-all lint bench clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[figures,dev]'
	touch $@

demo: setup
	mkdir -p out/demo
	$(BIN)/unblot clean examples/dirty.png -o out/demo/clean.png --json out/demo/result.json --report out/demo/report.html
	$(BIN)/unblot score examples/dirty.truth.json out/demo/result.json
	@echo "the dirty page: examples/dirty.png; the clean page: out/demo/clean.png; the report: out/demo/report.html"

test: setup
	$(BIN)/python -m pytest

test-all: setup
	$(BIN)/python -m pytest -m 'slow or not slow'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python benchmarks/truncation.py

clean:
	rm -rf .venv out
