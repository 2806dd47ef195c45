# Everything runs from .venv by path; `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# python3.11 where it really runs (a version manager's shim may not), else python3.
PYTHON ?= $(shell for p in python3.11 python3; do "$$p" -c '' 2>/dev/null && { echo $$p; break; }; done)
PIP_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready
JOBS ?= 2
BENCHMARKS ?= startup compile verify_sync execution timing calibration peers

.PHONY: demo test test-all check bench mutation clean help

demo: $(READY) ## compile the example MLP and a BERT layer, and run them against PyTorch
	$(BIN)/gec compile examples/mlp.py:SimpleMLP --input 'x=f16[32,768]' -o mlp.om
	$(BIN)/gec run mlp.om --golden torch
	$(BIN)/gec compile examples/bert_layer.py:BertLayer --input 'x=f16[2,128,768]' -o bert.om
	$(BIN)/gec run bert.om --golden torch

test: check ## the checks and every test but the slow ones
	$(BIN)/pytest -n $(JOBS) -q -m 'not slow'

test-all: check ## the checks, every test, and the .mlir tests again as real processes under lit
	$(BIN)/pytest -n $(JOBS) -q
	$(BIN)/lit -sv test

check: $(READY) ## formatting, lint, strict types, import floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

bench: $(READY) ## every benchmark: each goal with its measured ratio, then once more those that are missed
	@mkdir -p build
	@for name in $(BENCHMARKS); do \
	  echo "== benchmarks/$$name.py"; $(BIN)/python -u "benchmarks/$$name.py" 2>&1 || echo "FAILED"; \
	done | tee build/bench.txt
	@echo "== missed"
	@awk '/^== / { file = $$2 } /^[^ |]/ { title = $$0 } \
	  /MISSED|OVER|FAILED/ { print file ": " (title == $$0 ? "" : substr(title, 1, 60) " ... ") $$0; missed++ } \
	  END { if (!missed) print "no goal" }' build/bench.txt

mutation: $(READY) ## how many faults put into programs verify-sync reports: a table, ten minutes
	$(BIN)/python test/mutation_table.py

clean: ## remove caches and built files, keep .venv
	rm -rf build dist *.egg-info *.om .pytest_cache .ruff_cache .hypothesis .import_linter_cache .lit_test_times.txt test/.lit_test_times.txt
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=... chooses the interpreter for .venv, PIP_ARGS=... is passed to pip (for instance an index for torch)"

$(READY): pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "error: neither python3.11 nor python3 was found; set PYTHON=/path/to/python (3.11 or newer)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "error: '$(PYTHON)' is not Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	@[ -x $(BIN)/python ] || { echo "Creating .venv with $(PYTHON) ($$("$(PYTHON)" --version))"; "$(PYTHON)" -m venv .venv; }
	@echo "Installing into .venv (PyTorch is large: this takes some minutes; the whole log is .venv/install.log)"
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -e '.[torch,test]' $(PIP_ARGS) \
	  | tee .venv/install.log | awk '/^Collecting/ { print "  " $$2 } /^Installing/ { print "  installing" } { fflush() }'
	@touch $@
