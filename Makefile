# `make demo` and `make test` do all their own set-up in .venv; the other targets are for development.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find cpp src -type f \( -name '*.?pp' -o -name '*.py' -o -name '*.pyi' -o -name 'explorer.*' \)) CMakeLists.txt pyproject.toml

.PHONY: demo test lint core stubs web format sanitize sanitize-threads coverage coverage-run compilers bench papers fire docs dist dist-test release clean

demo: $(VENV)/.demo
	$(BIN)/winkel demo

test: lint
	$(BIN)/python -m pytest tests -n 2

lint: $(VENV)/.test
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/clang-format --dry-run --Werror $$(find cpp -name '*.?pp')
	$(BIN)/mypy
	$(BIN)/mypy --config-file examples/mypy.ini examples
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

# The tests that reach the core, with it built under address and undefined-behaviour sanitizers, in a copy of the package.
# Leaks are not looked for: the interpreter keeps objects on purpose. Neither races nor peaks of memory show here.
REACH := tests/property $(addprefix tests/unit/,graph measures methods problem)
SANITIZE := build/sanitize
sanitize: $(VENV)/.test
	rm -rf $(SANITIZE)/package
	mkdir -p $(SANITIZE)/package
	cp -r src/winkel $(SANITIZE)/package/winkel
	rm -f $(SANITIZE)/package/winkel/_core*.so
	$(BIN)/cmake -S . -B $(SANITIZE) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DWINKEL_SANITIZE=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/$(SANITIZE)/package/winkel > $(SANITIZE).log \
	  || (cat $(SANITIZE).log; exit 1)
	$(BIN)/cmake --build $(SANITIZE)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(CURDIR)/$(SANITIZE)/package \
	  $(BIN)/python -m pytest $(REACH) -m "not slow" -k "not threads and not memory and not pictures and not scikit_learn and not hostile" -n 2 -q -p no:cacheprovider --hypothesis-profile=sanitized

# Lines of Python and of the core that the tests go through: the core built to count, in a copy of the package.
# COVERED are the tests to run; browsers and tests that measure the process are left out.
COVERAGE := build/coverage
COVERED ?= tests
coverage: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group coverage
	$(MAKE) coverage-run DEV=$(BIN)

coverage-run:
	rm -rf $(COVERAGE)/package
	mkdir -p $(COVERAGE)/package
	cp -r src/winkel $(COVERAGE)/package/winkel
	rm -f $(COVERAGE)/package/winkel/_core*.so
	$(DEV)/cmake -S . -B $(COVERAGE) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(DEV))/ninja -DWINKEL_COVERAGE=ON \
	  -DPython_EXECUTABLE=$(abspath $(DEV))/python -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/$(COVERAGE)/package/winkel > $(COVERAGE).log \
	  || (cat $(COVERAGE).log; exit 1)
	$(DEV)/cmake --build $(COVERAGE)
	find $(COVERAGE) -name '*.gcda' -delete
	COVERAGE_FILE=$(COVERAGE)/data PYTHONPATH=$(CURDIR)/$(COVERAGE)/package $(DEV)/python -m coverage run \
	  -m pytest $(COVERED) -m "not slow and not browser" -n 2 -q -p no:cacheprovider
	COVERAGE_FILE=$(COVERAGE)/data $(DEV)/python -m coverage combine --quiet
	COVERAGE_FILE=$(COVERAGE)/data $(DEV)/python -m coverage report --show-missing --skip-covered
	$(DEV)/gcovr --root cpp --object-directory $(COVERAGE) --merge-lines --merge-mode-functions merge-use-line-0 --sort uncovered-number \
	  --gcov-suspicious-hits-threshold 0 --gcov-ignore-parse-errors negative_hits.warn_once_per_file $(COVERAGE)

# The pool, fork, cancellation and the main kernels under the thread sanitizer. Part of `make test`, too: seconds on a free machine.
sanitize-threads: $(VENV)/.test
	$(BIN)/python -m pytest tests/core/test_pool.py -k thread -q

# The core by several compilers, warnings as errors, and the tests that reach it the most. Not part of CI: 10 minutes each.
COMPILERS ?= g++-11 g++-12 clang++-14
compilers: $(VENV)/.test $(addprefix compiler-,$(COMPILERS))

compiler-%:
	rm -rf build/$*/package
	mkdir -p build/$*/package
	cp -r src/winkel build/$*/package/winkel
	rm -f build/$*/package/winkel/_core*.so
	$(DEV)/cmake -S . -B build/$* -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(DEV))/ninja -DCMAKE_CXX_COMPILER=$* -DWINKEL_WERROR=ON \
	  -DPython_EXECUTABLE=$(abspath $(DEV))/python -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/build/$*/package/winkel > build/$*.log \
	  || (cat build/$*.log; exit 1)
	$(DEV)/cmake --build build/$*
	CXX=$* PYTHONPATH=$(CURDIR)/build/$*/package $(DEV)/python -m pytest tests/core tests/property/test_bindings.py tests/unit/graph -q \
	  -p no:cacheprovider

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

# Each stamp installs one dependency group and, when a source file is newer, the package itself.
$(VENV)/.%: $(VENV)/.venv $(SOURCES)
	$(BIN)/python -m pip install --quiet --group $*
	$(BIN)/python -m pip install --quiet --config-settings=cmake.define.WINKEL_WERROR=ON .
	touch $@

# A development build of the core beside its Python sources (then PYTHONPATH=src uses it), and the stubs of core and package.
DEV ?= $(BIN)
core:
	@mkdir -p build
	$(DEV)/cmake -S . -B build/dev -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(DEV))/ninja -DWINKEL_WERROR=ON \
	  -DPython_EXECUTABLE=$(abspath $(DEV))/python -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/src/winkel > build/dev.log \
	  || (cat build/dev.log; exit 1)
	$(DEV)/cmake --build build/dev

stubs: core
	PYTHONPATH=src $(DEV)/python -m nanobind.stubgen -q -m winkel._core -o src/winkel/_core.pyi
	$(DEV)/ruff format -q --no-force-exclude src/winkel/_core.pyi
	PYTHONPATH=src $(DEV)/python tools/package_stub.py > build/package.pyi
	cp build/package.pyi src/winkel/__init__.pyi
	$(DEV)/ruff check --fix -q src/winkel/__init__.pyi
	$(DEV)/ruff format -q src/winkel/__init__.pyi
	PYTHONPATH=src $(DEV)/python tools/page_sources.py

# The program of the explorer page, from web/ into src/winkel/view/static (needs Node 20; using winkel does not).
# Not `npm ci`: the lock file pins every package, but lists builders' binaries of this platform only.
web:
	cd web && npm install --no-save --no-fund --no-audit && npm run build

format:
	$(DEV)/ruff check --fix -q src tests benchmarks examples tools
	$(DEV)/ruff format -q src tests benchmarks examples tools
	$(DEV)/clang-format -i $$(find cpp -name '*.?pp')

# Side by side with peers, which get an environment of their own; see benchmarks/README.md.
BENCH ?= neighbors --quick
bench: $(VENV)/.demo
	$(BIN)/python benchmarks/run.py $(BENCH)

# Every table and figure of the papers into benchmarks/paper/results: quick sizes in minutes, SIZE=medium larger ones, SIZE=full the papers'. ONLY="lvm tsm-fig3" runs some.
papers: $(VENV)/.demo
	PYTHONPATH=.:$$PYTHONPATH $(BIN)/python -m benchmarks.paper $(if $(SIZE),--size $(SIZE)) $(ONLY)

# The documentation site in build/site; a warning or a broken link is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html; its search works once it is served: $(BIN)/python -m http.server -b 127.0.0.1 -d build/site"

# Source distribution and wheel in dist/; then the wheel in an environment of its own, without a compiler, with its tests.
dist: $(VENV)/.venv
	$(BIN)/python -m pip install --quiet --group dist
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/python tools/check_dist.py dist

dist-test: dist
	rm -rf build/dist-env
	$(PYTHON) -m venv build/dist-env
	build/dist-env/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	build/dist-env/bin/python -m pip install --quiet dist/*.whl
	cd build && CC=false CXX=false dist-env/bin/python ../tools/dist_smoke.py

# Everything that a release needs but the upload.
release: test docs dist-test
	$(BIN)/python tools/check_dist.py dist --release

# Bad data, faults, fuzzing and load, for MINUTES; prints the table of docs/reliability.md.
MINUTES ?= 10
fire: $(VENV)/.test
	WINKEL_FIRE=1 $(BIN)/python -m pytest tests/fire -n 2 -q
	$(BIN)/python -m tests.fire.run --minutes $(MINUTES)

clean:
	rm -rf build $(VENV)
