# One command per need. Each does its own set-up in .venv; nothing has to be done before.
# Needed: Python 3.11 to 3.14 with its venv module, and make. PYTHON=/path/to/python3 picks one.

SHELL = /bin/sh
BIN = .venv/bin
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
BENCHES = $(sort $(wildcard tests/bench/*.py))
# What `make test` runs beside the tests proper: each notebook's stored outputs against a new run.
NBVAL = -p nbval.plugin --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-kernel-startup-timeout=120 \
	--nbval-sanitize-with=tests/notebooks/sanitize.cfg
# Two processes share the tests, a file at a time and in the order of tests/conftest.py.
SIDE_BY_SIDE = --numprocesses=2 --dist=loadfile --no-loadscope-reorder
# A test run starts Python some two hundred times: modules stay compiled even where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE
# The tests in which the protocol's floors are taken apart.
COVERING = $(addprefix tests/,brokers clients cluster conformance core messages properties records recordings scenarios)
ARGS =

.PHONY: help lab site test check coverage mutants thorough fuzz interrupt soak lock lint format notebooks front bench set-up-run set-up-test set-up-front set-up-site set-up-lock
.NOTPARALLEL:

help:
	@echo 'make lab         open JupyterLab on the first notebook'
	@echo 'make site        build the site without a server in build/site; ARGS=serve shows it'
	@echo 'make test        run every check and every test'
	@echo 'make check       run the part that takes a few minutes: no Spark, no browser, no notebooks'
	@echo 'make thorough    make the searches that take minutes each, and that no other target makes'
	@echo 'make coverage    see which branches of the protocol no test takes'
	@echo 'make mutants     change one thing in the program at a time and see whether a test turns red'
	@echo 'make format      put the code into the common format'
	@echo 'make notebooks   run the notebooks again and store their outputs'
	@echo "make front       bundle the stepper's JavaScript again"
	@echo 'make fuzz        hold mutated inputs against every reader of foreign data, for as long as you like'
	@echo 'make interrupt   press ^C at random moments of long commands and see that nothing is lost'
	@echo 'make soak        serve a cluster to many clients while random faults happen, for as long as you like'
	@echo 'make lock        lock every package for Binder and conda again, and list the licences'
	@echo 'make bench       measure the speed'

set-up-run set-up-test set-up-front set-up-site set-up-lock: set-up-%:
	@PYTHON='$(PYTHON)' sh .ci/set-up $*

lab: set-up-run
	@exec sh .ci/lab $(ARGS)

# Static files for any host. npm and pip fetch what runs the model in a browser, and the notebooks, by the hashes
# of kipviz/site/runtime.json and lite.json.
site: set-up-site
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m kipviz.site $(ARGS)

lint: set-up-test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@cd kipviz/widgets/front && PATH="$(CURDIR)/$(BIN):$$PATH" && export PATH && \
		{ [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent; } && npm run --silent check

# pytest comes last: its closing line is the result.
test: lint
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(NBVAL) tests $(NOTEBOOKS) $(ARGS)

check: lint
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not spark and not browser and not slow' $(ARGS)

coverage: set-up-test
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) --cov -m 'not spark and not browser' $(COVERING) $(ARGS)

# ARGS: --seed 1 --count 500, --floor brokers, --file share_writes.py, --line FILE:LINE, --resume, --record
mutants: set-up-test
	@$(BIN)/python -m tests.mutants $(ARGS)

thorough: set-up-test
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m thorough $(ARGS)

# `make fuzz ARGS="--seconds 600 --target wire --seed 5"`; tests/fuzz/README.md says the rest.
fuzz: set-up-test
	@exec $(BIN)/python -m tests.fuzz $(ARGS)

# ARGS: --seed 5 --count 200, --command campaign, --record
interrupt: set-up-test
	@exec $(BIN)/python -m tests.interrupting $(ARGS)

lock: set-up-lock
	@$(BIN)/python tests/setup/lock.py

format: set-up-test
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

notebooks: set-up-test
	$(if $(NOTEBOOKS),@$(BIN)/ruff format --quiet $(NOTEBOOKS))
	@$(BIN)/python tests/notebooks/canonical.py $(NOTEBOOKS)

front: set-up-front
	@cd kipviz/widgets/front && PATH="$(CURDIR)/$(BIN):$$PATH" && npm ci --silent && npm run --silent build

bench: set-up-test
	@if [ -z '$(BENCHES)' ]; then echo 'kipviz: there is nothing to measure in tests/bench.'; fi
	@for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python "$$bench" || exit 1; done

.DEFAULT:
	@echo "kipviz: there is no target '$@'; 'make help' names those there are." >&2; exit 2
