# make run    set everything up and serve on http://127.0.0.1:8000 (HOST=… PORT=… to change)
# make test   set everything up, lint, and pass every test, browser included
# make bench  measure, and print the tables of the README
# make lint   ruff and mypy alone
# make screenshot   take the picture of the README again

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test bench lint screenshot clean

run: $(VENV)/app
	exec $(BIN)/gradloupe --host $(HOST) --port $(PORT)

test: lint $(VENV)/browser
	$(BIN)/python -m pytest

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=$(VENV)/src $(BIN)/mypy -p gradloupe.ops -p gradloupe.server -p gradloupe.__main__

bench: $(VENV)/bench
	$(BIN)/python tests/bench/run.py

screenshot: $(VENV)/browser
	$(BIN)/python tests/screenshot.py

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/app: requirements.txt pyproject.toml $(VENV)/pip
	$(BIN)/pip install -r requirements.txt
	$(BIN)/pip install --no-deps --editable .
	touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/app
	$(BIN)/pip install -r requirements-dev.txt
	mkdir -p $(VENV)/src && ln -sfn ../.. $(VENV)/src/gradloupe
	touch $@

$(VENV)/browser: $(VENV)/dev
	PATH="$(abspath $(BIN)):$$PATH" sh tests/install_browser.sh
	touch $@

$(VENV)/bench: tests/bench/requirements.txt $(VENV)/dev
	$(BIN)/pip install -r tests/bench/requirements.txt
	touch $@
