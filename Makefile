# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo docs docs-links test test-slow test-blas test-matrix fuzz serve-fuzz lint peers peers-text setup setup-dev setup-docs clean

demo: setup
	$(BIN)/rmls demo

# Bytecode is written whatever the environment says: every worker compiles all tests else.
test test-slow: export PYTHONDONTWRITEBYTECODE =

test: setup-dev
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

# What is slow by nature: processes that are killed, memory at many labels, quality on real data.
test-slow: setup-dev
	$(BIN)/python -m pytest -n auto --dist loadfile -m slow

# The tests as on other processors, with 1 and 2 threads of BLAS.
test-blas: setup-dev
	PYTHON=$(BIN)/python tests/tools/blas_matrix.sh

# The tests on every installed Python, with the lowest and the newest libraries.
test-matrix: setup-dev
	$(BIN)/python tests/tools/version_matrix.py $(MATRIX_ARGS)

# Hostile files, models, fits and kills; FUZZ_ARGS="--minutes 20 --seed 1 --only readers" and so on.
fuzz: setup-dev
	$(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

# Thousands of requests from the OpenAPI document of the service, 10,000 odd ones, and 200 kills.
serve-fuzz: setup-dev
	$(BIN)/python benchmarks/serve_schema.py
	$(BIN)/python benchmarks/serve_odd.py
	$(BIN)/python benchmarks/serve_kills.py

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in build/docs; a warning is an error, and nothing is fetched.
docs: setup-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs

# Links to other sites, which needs a network.
docs-links: setup-docs
	$(BIN)/python -m sphinx -b linkcheck -q docs build/docs-links

# Measure other libraries beside rmls; PEERS_ARGS="--peers pecos --datasets enron" and so on.
peers: setup
	$(BIN)/python benchmarks/peers/run.py $(PEERS_ARGS)

# The same from raw text, with scikit-learn, fastText and Annif; PEERS_ARGS="--datasets cooking".
peers-text: setup
	$(BIN)/python benchmarks/peers/text.py $(PEERS_ARGS)

setup: $(VENV)/.installed

setup-docs: $(VENV)/.installed-docs

setup-dev: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist docs/examples docs/reference/api .pytest_cache .mypy_cache .ruff_cache
