# Two commands for a newcomer, each with all its own set-up: make demo, make test.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DIAGNOSE := $(BIN)/diagnose
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
READY_DOCS := $(VENV)/.ready-docs

# For the tests of the probes. Only a build for CPUs has this label: no gigabytes of CUDA are ever fetched.
TORCH := $(BIN)/python -m pip install --disable-pip-version-check --only-binary :all: 'torch==2.13.0+cpu'
TORCH_INDEX := --timeout 15 --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu

.PHONY: demo test lint unit fuzz docs index collector clean

demo: $(READY)
	@echo; echo '--- diagnose collect: this machine ---'
	@$(DIAGNOSE) collect -o $(VENV)/demo-bundle.tar.zst
	@echo; echo '--- diagnose explain: this machine (exit status 3: nothing here says that anything is wrong or right) ---'
	@$(DIAGNOSE) explain $(VENV)/demo-bundle.tar.zst || true
	@echo; echo '--- diagnose explain: a server that hangs, in a container (tests/stories/driver-split) ---'
	@$(DIAGNOSE) explain tests/stories/driver-split || test $$? -eq 1

test: lint unit

lint: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(DIAGNOSE) rules lint

unit: $(READY_DEV)
	$(BIN)/python -m pytest -n auto
	$(DIAGNOSE) rules test

fuzz: $(READY_DEV)
	FUZZ_EXAMPLES=200000 $(BIN)/python -m pytest tests/readers/test_fuzz.py tests/test_mutations.py tests/test_redaction.py

docs: $(READY_DOCS)
	PYTHONPATH=docs $(BIN)/python docs/make_site.py build/docs
	rm -rf site
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky --jobs auto --fresh-env \
	  --doctree-dir build/doctrees build/docs site
	@echo 'The site: site/index.html'

index: $(READY)
	$(BIN)/python -m collectors.index
	$(BIN)/python -m kb.rule_index

collector: | $(VENV)/bin/python
	@$(BIN)/python -m collectors.one_file diagnose-collect.pyz

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo 'make: Python 3.10 or newer is needed, $(PYTHON) is older; try make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo 'make: $(PYTHON) has no venv module; on Debian: apt-get install python3-venv' >&2; exit 1; }

$(READY): pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[durable]' > $(VENV)/durable.log 2>&1 || true
	@$(BIN)/python -c 'import durable.engine' 2> /dev/null || \
	  echo 'durable-rules is not to be had here (it needs a C compiler and Python 3.12 or older): the plain matcher serves.'
	@touch $@

$(READY_DEV): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(TORCH) > $(VENV)/torch.log 2>&1 || $(TORCH) $(TORCH_INDEX) >> $(VENV)/torch.log 2>&1 || \
	  echo 'torch for CPUs is not to be had here: the tests of the probes that need it are skipped.'
	@touch $@

$(READY_DOCS): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) diagnose-collect.pyz .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
