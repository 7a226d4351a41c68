# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint peers setup setup-dev clean

demo: setup
	$(BIN)/rmls demo

test: setup-dev
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Measure other libraries beside rmls; PEERS_ARGS="--peers pecos --datasets enron" and so on.
peers: setup
	$(BIN)/python benchmarks/peers/run.py $(PEERS_ARGS)

setup: $(VENV)/.installed

setup-dev: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
