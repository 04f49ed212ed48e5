# A thin front for Meson. Every goal first installs what is missing
# (scripts/setup.sh), then builds quietly (scripts/build.sh).
#
#   make            the program and the library, in build/
#   make demo       the whole way on a generated corpus, in demo/
#   make test       all fast tests; the last line is `N passed, N failed`
#   make python     the wheel of the Python package, in python/dist/
#   make test-mpi   tests of several ranks under Open MPI, MPICH and none, and on hosts of its own
#   make bench      measurements, into bench/results (SHOAL_DATA=folder for real text)
#   make asan tsan  the tests under the sanitizers
#   make test-asan  of them the unit tests and the fuzz targets' kept inputs, as .ci/run does
#   make fuzz       every fuzz target for FUZZ_SECONDS each, one on each core
#   make fuzz-merge keep the inputs it found that reach new code, in tests/fuzz/corpus
#   make faults     every call of the system fails, one at a time; then every place under asan
#   make install    PREFIX=/usr/local DESTDIR=
#   make format tidy clean
#
# WERROR=1 makes warnings errors, as .ci/run does.

BUILD ?= build
FUZZ_SECONDS ?= 20
MESON_ARGS = $(if $(WERROR),-Dwerror=true) $(if $(PREFIX),-Dprefix=$(abspath $(PREFIX)))

setup = @scripts/setup.sh
build = @scripts/build.sh
test = @scripts/test.sh
# Debian's modules belong to Debian's interpreter, whatever else `python3` may be.
python = $(firstword $(wildcard /usr/bin/python3) python3)
checked = --buildtype=debugoptimized -Db_lundef=false

all:
	$(setup) build test
	$(build) $(BUILD) $(MESON_ARGS)

demo: all
	@scripts/demo.sh $(BUILD)

test: all
	$(test) $(BUILD)

python:
	$(setup) build test
	@cd python && $(python) -c "from setuptools import build_meta; build_meta.build_wheel('dist')" \
	    >build.log 2>&1 || { cat build.log >&2; exit 1; }
	@ls python/dist/*.whl

test-mpi: all
	$(build) build-mpich -Dmpi=mpich $(MESON_ARGS)
	$(build) build-alone -Dmpi=disabled $(MESON_ARGS)
	@tests/mpi/run.sh $(BUILD) build-mpich build-alone
	@tests/mpi/hosts.sh $(BUILD)/cli/shoal
	@tests/mpi/links.sh $(BUILD)/cli/shoal

bench: all
	$(setup) bench
	@bench/encode.sh $(BUILD)
	@$(python) bench/train.py $(BUILD)
	@$(python) bench/ranks.py $(BUILD)
	@$(python) bench/logreg.py $(BUILD)
	@$(python) bench/serve.py $(BUILD)
	@$(python) bench/defaults.py $(BUILD)
	@$(python) bench/python.py $(BUILD)
	@$(python) bench/index.py $(BUILD)
	@test -z "$$SHOAL_DATA" || VECTORS=bench/results/vectors.bin bench/eval.sh $(BUILD)

sanitize = build-asan $(checked) -Dc_args=-g1 -Db_sanitize=address,undefined $(MESON_ARGS)

build-asan:
	$(setup) build test
	$(build) $(sanitize)

asan: build-asan
	$(test) build-asan --timeout-multiplier 4

test-asan:
	$(setup) build test
	@TARGET=sanitized scripts/build.sh $(sanitize)
	$(test) build-asan --timeout-multiplier 4 --suite unit --suite fuzz

tsan:
	$(setup) build test
	$(build) build-tsan $(checked) -Db_sanitize=thread $(MESON_ARGS)
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp $$TSAN_OPTIONS" \
	    $(test:@%=%) build-tsan --timeout-multiplier 8

build-fuzz:
	$(setup) build fuzz
	@CC=clang CXX=clang++ scripts/build.sh build-fuzz $(checked) -Dfuzz=true \
	    -Db_sanitize=address,undefined \
	    '-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined' $(MESON_ARGS)

fuzz: build-fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz

fuzz-merge: build-fuzz
	@scripts/fuzz.sh build-fuzz merge

faults: all build-asan
	@python3 tests/faults/run.py $(BUILD)/tests/faults --every
	@python3 tests/faults/run.py build-asan/tests/faults --places

install: PREFIX ?= /usr/local
install: all
	@meson install -C $(BUILD) --no-rebuild --quiet
	@test -n "$(DESTDIR)" || ldconfig 2>/dev/null || true

format:
	$(setup) lint
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

tidy: all
	$(setup) lint
	@git ls-files -co --exclude-standard 'src/*.c' 'cli/*.c' | xargs clang-tidy --quiet -p $(BUILD)

clean:
	@rm -rf build build-asan build-tsan build-fuzz build-mpich build-alone demo bench/results \
	    python/build python/dist python/build.log python/shoal.egg-info

.PHONY: all demo test python test-mpi bench build-asan asan test-asan tsan build-fuzz fuzz fuzz-merge \
    faults install format tidy clean
