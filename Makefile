# Each target sets up all it needs from a bare clone and a Python with venv; the first time takes
# minutes, later ones start at once. Environments are renewed when pyproject.toml or a list changes.

PYTHON ?= python3
ARGS ?=

VENV := .venv
READING := .venv-reading
OLD := psbench needs Python 3.11 or newer, and $(PYTHON) is not; try: make PYTHON=python3.12
BARE := $(PYTHON) has no venv; on Debian and Ubuntu: apt install python3-venv

# install,ENVIRONMENT,ARGUMENTS OF PIP: says nothing unless it fails
install = $(1)/bin/python -m pip install --disable-pip-version-check -c constraints.txt $(2) \
	>$(1)/install.log 2>&1 || { tail -n 30 $(1)/install.log >&2; exit 1; }

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help quickstart test lint pytest reading clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s  %s\n", $$1, $$2}' Makefile

quickstart: $(VENV)/.psbench ## run experiments/quickstart.yaml; ARGS='--set repeats=1' goes to psbench
	$(VENV)/bin/psbench run experiments/quickstart.yaml $(ARGS)

test: lint pytest reading ## all that CI runs; ARGS='tests/spec -x' goes to pytest

lint: $(VENV)/.psbench-test ## style, types, and who imports whom
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo

pytest: $(VENV)/.psbench-test ## the tests, by two processes; ARGS='tests/spec -x' goes to pytest
	$(VENV)/bin/pytest -n 2 --dist loadgroup $(ARGS)

reading: $(READING)/.psbench ## read results, and run the notebook, without ray and torch
	$(READING)/bin/pytest tests/reading
	$(READING)/bin/pytest --nbmake notebooks

clean: ## remove environments, builds and caches, but no results
	rm -rf $(VENV) $(READING) build dist *.egg-info .hypothesis .*_cache
	find psbench tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.psbench: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo 'installing psbench into $(VENV): some minutes'
	@$(call install,$(VENV),-e .)
	@touch $@

$(VENV)/.psbench-test: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo 'installing psbench and what its tests need into $(VENV): some minutes'
	@$(call install,$(VENV),-e '.[test]')
	@touch $(VENV)/.psbench $@

$(READING)/.psbench: $(READING)/bin/python pyproject.toml constraints.txt requirements-reading.txt
	@echo 'installing what reading results needs into $(READING)'
	@$(call install,$(READING),-r requirements-reading.txt pytest pytest-timeout nbmake ipykernel)
	@$(call install,$(READING),--no-deps -e .)
	@touch $@

$(VENV)/bin/python $(READING)/bin/python: %/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo '$(OLD)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo '$(BARE)' >&2; exit 1; }
	@$(PYTHON) -m venv --clear $*
