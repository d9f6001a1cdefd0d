.DEFAULT_GOAL := help
.PHONY: help run test check bench fill chaos mutants fuzz figures screens weight docs lock

VENV := .venv
PYTHON := $(VENV)/bin/python
MADE := $(VENV)/.made
INSTALL := $(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r
RUNTIME := $(VENV)/.installed
DEVELOPMENT := $(VENV)/.installed-dev
CHECKERS := tests/e2e/node_modules/.installed
LOCK := $(PYTHON) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	--no-emit-options

help: ## Show what can be done
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

run: $(RUNTIME) ## Start the site; Ctrl-C ends all of it
	@exec $(PYTHON) manage.py up

# Most of a test is waiting, so four processes are worth it on two cores. A file stays in one; the files
# keep the order of tests/conftest.py. Without bytecode each process of a site would compile it all.
TESTERS ?= 4
test: $(DEVELOPMENT) $(CHECKERS) ## Run the whole suite (ARGS="-k quota" for a part)
	@exec env -u PYTHONDONTWRITEBYTECODE $(PYTHON) -m pytest -n $(TESTERS) --dist loadfile \
		--no-loadscope-reorder $(ARGS)

check: $(DEVELOPMENT) ## Style, types, templates, missing migrations
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy .
	$(PYTHON) -m djlint --lint --quiet templates
	$(PYTHON) manage.py makemigrations --check --dry-run

bench: $(DEVELOPMENT) ## Measure: make bench PART=inflight
	@exec $(PYTHON) -m tests.bench $(PART)

fill: $(DEVELOPMENT) ## Fill a new database with a long history (ROWS=1000000)
	@exec $(PYTHON) -m tests.bench.fill $(ROWS)

DB ?= sqlite
chaos: SEED ?= 1
chaos: ROUNDS ?= 60
mutants: SEED ?= 1
fuzz: SEED ?= 1
fuzz: SECONDS ?= 60
mutants: ROUNDS ?= 200

chaos: $(DEVELOPMENT) ## Hurt a site of its own, hold its books to the bill (SEED=1 ROUNDS=60 DB=sqlite)
	@exec $(PYTHON) -m tests.drill --seed $(SEED) --rounds $(ROUNDS) --db $(DB)

mutants: $(DEVELOPMENT) ## Plant each defect, one after the other: the drill must find each
	@exec $(PYTHON) -m tests.drill --mutants --seed $(SEED) --rounds $(ROUNDS) --db $(DB)

fuzz: $(DEVELOPMENT) ## Send what no browser sends to every address (SECONDS=60 DB=sqlite SEED=1)
	@exec $(PYTHON) -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) --db $(DB)

figures: $(DEVELOPMENT) ## Print the size and shape of the code, or of a revision (REV=main)
	@exec $(PYTHON) -m tests.figures $(REV) $(if $(WITHOUT),--without $(WITHOUT))

screens: $(DEVELOPMENT) ## Take pictures of the pages into screens/
	@exec $(PYTHON) -m tests.screens

weight: $(DEVELOPMENT) ## What each page weighs without its pictures
	@exec $(PYTHON) -m tests.weight

docs: $(DEVELOPMENT) ## Write docs/configuration.md and .env.example from the settings
	@exec $(PYTHON) -m config.reference

lock: $(DEVELOPMENT) ## Pin anew what pyproject.toml asks for
	$(LOCK) --upgrade --output-file requirements.txt pyproject.toml
	$(LOCK) --upgrade --extra dev --constraint requirements.txt \
		--output-file requirements-dev.txt pyproject.toml

$(MADE):
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@python3 -m venv $(VENV)
	@touch $@

$(RUNTIME): requirements.txt | $(MADE)
	@echo "Installing what the site needs"
	@$(INSTALL) requirements.txt
	@touch $@

$(DEVELOPMENT): requirements-dev.txt | $(MADE)
	@echo "Installing what the tests need"
	@$(INSTALL) requirements-dev.txt
	@touch $@ $(RUNTIME)

# Without npm, or without a registry, the tests that need these skip.
$(CHECKERS): tests/e2e/package-lock.json
	@echo "Installing what the tests ask about pages"
	@cd tests/e2e && command -v npm >/dev/null && npm ci --ignore-scripts --no-audit --no-fund \
		--fetch-retries 1 --loglevel error >/dev/null && touch node_modules/.installed \
		|| echo "Not installed: axe-core and the Nu checker, which npm would fetch"
