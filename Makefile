# `make demo` and `make test` do everything on a machine that has Python 3.11 or later and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# What the demo compares: the tutor that only pleases, ours, and what tutors do today.
DEMO := unconstrained,mc-cpo,random-ready,mastery-learning,zpdes

.PHONY: demo test test-all check quick test-browser lint types layers docs readability paper requirements clean

demo: $(READY)
	$(BIN)/mccpo compare fractions --floor learning=0.8 --seeds 2 --steps 500000 --methods $(DEMO)
	$(BIN)/mccpo compare fractions --kappa 0.9 --seeds 2 --steps 500000 --methods unconstrained,mc-cpo
	@echo "serve the policy that teaches: $(BIN)/mccpo serve $$(ls -td runs/compare-fractions* | sed -n 2p) --no-keys"

# Checks and tests beside each other: the first are one process, which leaves a core idle.
test: $(READY)
	@$(MAKE) --no-print-directory -j 2 check quick

check: lint types layers

quick: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-all: check
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -n 2 --dist worksteal

# The pages in a real Chromium; `make test` runs them too, and skips them where there is none.
test-browser: $(READY)
	$(BIN)/pytest tests/browser

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# The site, in docs/_build/html. First the pages that are made from the code and from published results, then all of
# them. Tutorials run when they have changed; their outputs are kept. MCCPO_NOTEBOOKS=off leaves them unrun.
docs: $(READY)
	$(BIN)/python -m mccpo.report.docs.pages docs
	$(BIN)/python -m docs.generate docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# How hard the pages are to read: long sentences, passive voice, inverted order.
readability: $(READY)
	$(BIN)/python -m mccpo.report.docs.readability docs

# The page of the paper's claims, from run folders of `mccpo reproduce`: make paper RUN=runs/paper
paper: $(READY)
	$(BIN)/python -m mccpo.report.docs.published docs $(RUN)
	$(BIN)/python -m mccpo.report.docs.pages docs

# The environment is made anew only when what it is made of has changed.
$(READY): pyproject.toml requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mccpo needs Python 3.11 or later: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $(READY)

# Needs uv; resolves for every supported Python and records hashes, and no address.
requirements:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet \
		--extra dev pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/_build
