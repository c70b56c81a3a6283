# make serve | install | quick | test | test-all | check | docs | mutations | bench | eval | train | fmt | reference | lock | sbom | release | image | clean
# Everything is set up in .venv/ on the first call; later calls only look at the stamps.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# MkDocs and what it needs, apart from the development tools.
DOCS   := .venv-docs
ARGS   ?=
# Foreign servers beside ours in the bench, such as litellm.
PEERS  ?=
# One part of the tree for `make quick`, such as doors/openai.
F      ?=
# What `make test-all` runs after `make test`.
REST   := check docs mutations test-peers test-model fuzz bench-short soak coverage
# How often what is repeated in tests is repeated; `make eval` does the full number.
ROUNDS ?= 10
export ROUNDS

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without cached bytecode every start would pay for compiling again.
unexport PYTHONDONTWRITEBYTECODE

VERSION = $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help serve install quick test test-all test-rest test-peers test-model test-live fuzz coverage check docs mutations soak bench eval train fmt reference assets screens recording lock sbom release release-check image clean python

help:
	@echo "make serve   set up and start the server (ARGS='--port 8000')"
	@echo "make install ADD='rightseat[cluster]'   add the packages of an extra to .venv"
	@echo "make quick   lint, import rules, and the tests without sockets, processes or a model (F=doors/openai)"
	@echo "make test    set up and run the tests; needs Python and the package index, nothing else"
	@echo "make test-all    make test, check, docs, mutations, test-peers, test-model, fuzz, the short bench, two minutes of soak, coverage"
	@echo "make test-peers  the tests with real clients, browser and database; installs what it can"
	@echo "make test-model  the long tests of the embedded model"
	@echo "make fuzz    coverage-guided fuzzing of the parsers, 1,500 inputs each"
	@echo "make test-live   the model contract against each vendor whose key is set"
	@echo "make check   lint, types, imports, caps, demands"
	@echo "make docs    build the documentation site into build/site; warnings are errors"
	@echo "make mutations   remove each guard of checks/guards.toml in a copy of the tree; its tests must fail"
	@echo "make bench   cost per token and per request (PEERS=litellm ARGS=--write)"
	@echo "make eval    quality of answers"
	@echo "make train   train the embedded model's adapter (TORCH=python with torch, numpy, gguf, tokenizers)"
	@echo "make fmt     format the code                   make lock   refresh the locks    make clean"
	@echo "make release  wheel, sdist, bill of materials and checksums in dist/   make sbom   the bill of materials alone"
	@echo "make release-check  make release, a second build, the same bytes   make image   the container image, by docker"
	@echo "make reference   write docs/reference from the code   make assets   fetch what our pages show"
	@echo "make screens, make recording   the pictures of docs/img: the playground, the first commands in a terminal"

# What the pages show is a wish and not a condition: the server does not wait for it.
serve: python
	@"$(PYTHON)" checks/assets.py --background & \
	  $(MAKE) --no-print-directory $(VENV)/.run || { kill $$! 2>/dev/null; exit 3; }; \
	  exec $(BIN)/rightseat serve $(ARGS)

# Packages that rightseat asks for, such as those of an extra: make install ADD='rightseat[cluster]'
install: $(VENV)/.run
	@test -n "$(ADD)" || { echo "name what to install: make install ADD='rightseat[cluster]'" >&2; exit 2; }
	@$(INSTALL) $(BIN)/python --add "$(ADD)"

quick: $(VENV)/.dev
	@$(BIN)/python -m checks.quick $(F)

# targets.py installs by itself and prints how long that takes. PYTEST_ARGS in the environment reach pytest.
test test-peers test-model fuzz coverage docs mutations soak: python
	@"$(PYTHON)" checks/targets.py $@

test-all: python
	@"$(PYTHON)" checks/targets.py test $(REST)

test-rest: python
	@"$(PYTHON)" checks/targets.py $(REST)

test-live: $(VENV)/.dev
	@$(BIN)/python -m tests.live

check: $(VENV)/.dev
	@$(BIN)/python -m checks

bench: $(VENV)/.dev
	@$(BIN)/python -m bench $(addprefix --with ,$(PEERS)) $(ARGS)

eval: $(VENV)/.dev
	@ROUNDS=full $(BIN)/python -m pytest -q -n auto -m "not peers and not long and not drill"
	@ROUNDS=full $(BIN)/python -m tests.fuzz
	@$(BIN)/python -m tests.fuzz.parsers --seconds 1200
	@$(BIN)/python -m evals.weather
	@$(BIN)/python -m evals.demo
	@$(BIN)/python -m evals.plain_chat
	@$(BIN)/python -m evals.first_questions seen
	@$(BIN)/python -m evals.widgets
	@$(BIN)/python -m evals.plugins
	@$(BIN)/python -m evals.plugin_choice
	@$(BIN)/python -m evals.guardrails
	@$(BIN)/python -m evals.crashes
	@$(BIN)/python -m evals.crashes --points 1000 --workers 3
	@$(BIN)/python -m evals.rolling
	@$(BIN)/python -m evals.crashes --points 1000 --replicas 3 --store postgres
	@$(BIN)/python -m evals.crashes --points 1000 --replicas 3 --store postgres --live valkey
	@$(BIN)/python -m evals.crashes --points 200 --replicas 3 --store postgres --fault pause
	@$(BIN)/python -m pytest -q -m drill tests/faults
	@$(BIN)/python -m evals.outages --engine postgres --seconds 600 --runs 1000
	@$(BIN)/python -m evals.outages --engine valkey --seconds 600 --runs 1000
	@$(BIN)/python -m evals.outages --engine postgres --seconds 120 --runs 100 --away 30
	@$(BIN)/python -m evals.outages --engine valkey --seconds 120 --runs 100 --away 30
	@# What cannot be installed is said; that is no failure of ours.
	@$(BIN)/python -m evals.alternatives || test $$? -eq 3
	@$(BIN)/python -m evals.soak

# Minutes on a GPU: docs/embedded-model.md. PyTorch is no dependency of the project: TORCH names a Python that has it.
# It goes on from the adapter START and keeps two thirds of it; with an empty START it fits from nothing.
TORCH ?= python3
FIT   ?= --seconds 520 --rate 1.2e-3 --compile
START ?= src/rightseat/models/llamacpp/adapter/smollm2-135m-tools.gguf
train: $(VENV)/.dev
	@mkdir -p build/train
	@$(BIN)/python -c "from rightseat.models.llamacpp import weights; print(weights.require_weights())" > build/train/base
	@$(BIN)/python -m train.generate build/train/data.jsonl.gz
	@$(TORCH) -m train.encode build/train/data.jsonl.gz "$$(cat build/train/base)" build/train/tokens.npz
	@$(TORCH) -m train.fit build/train/tokens.npz "$$(cat build/train/base)" build/train/fitted.npz \
	  $(if $(START),--start $(START)) $(FIT)
	@$(if $(START),$(TORCH) -m train.blend $(START) build/train/fitted.npz build/train/fitted.npz 0.33)
	@$(TORCH) -m train.export build/train/fitted.npz build/train/adapter.gguf
	@$(BIN)/python -m train.leakage
	@$(BIN)/python -m train.evaluate 'new={"adapter": "build/train/adapter.gguf"}' --out build/train/misses.txt

fmt: $(VENV)/.dev
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

screens: $(VENV)/.dev
	@$(BIN)/python -m tests.peers.screens

# The first commands of the README, really run, as one picture.
recording: $(VENV)/.dev
	@$(BIN)/python -m tests.peers.recording

assets: python
	@"$(PYTHON)" checks/assets.py

reference: $(VENV)/.dev
	@$(BIN)/python -m checks.reference --write
	@$(BIN)/python -m checks.stable --write
	@$(BIN)/python -m checks.clients --write

lock: python
	@"$(PYTHON)" checks/lock.py

sbom: $(VENV)/.dev
	@$(BIN)/python -m checks.sbom

# The commit, and nothing else: the same commit gives the same bytes.
release: $(VENV)/.dev assets
	@$(BIN)/python -m checks.release

# Builds a second time, elsewhere, and compares with dist/.
release-check: release
	@$(BIN)/python -m checks.release --verify

# The image of deploy/Dockerfile, which must tell its version.
image: assets
	docker build -f deploy/Dockerfile -t rightseat:$(VERSION) .
	docker run --rm rightseat:$(VERSION) --version

clean:
	rm -rf $(VENV) $(DOCS) .peers dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "rightseat needs Python 3.11 or newer; '$(PYTHON)' is: $$("$(PYTHON)" --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=/path/to/python3.11" >&2; exit 2; }

# By uv or pip, in several tries, with a message that is not mistaken for a failed test.
INSTALL := "$(PYTHON)" checks/packages.py

$(BIN)/python:
	@$(MAKE) --no-print-directory python
	@echo "setting up $(VENV)/ …"
	@"$(PYTHON)" -m venv --without-pip $(VENV) || { \
	  echo "could not install: '$(PYTHON) -m venv' failed" >&2; rm -rf $(VENV); exit 3; }

# No installer stays in it: pip, setuptools and uv are a fifth of its size.
$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@$(INSTALL) $(BIN)/python requirements/run.txt --project
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@$(INSTALL) $(BIN)/python requirements/dev.txt --tools --project
	@touch $(VENV)/.run $@

$(DOCS)/.installed: requirements/docs.txt | $(BIN)/python
	@"$(PYTHON)" -m venv --without-pip $(DOCS) || { \
	  echo "could not install: '$(PYTHON) -m venv' failed" >&2; rm -rf $(DOCS); exit 3; }
	@$(INSTALL) $(DOCS)/bin/python requirements/docs.txt
	@touch $@
