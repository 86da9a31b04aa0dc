# SPDX-License-Identifier: Apache-2.0
# Front door: every target is one command of Meson or of tools/. `make help` lists them.
#
#   BUILD=build         where things are built; the command is $(BUILD)/weft
#   prefix=/usr/local   for install, with DESTDIR
#   CHECK=              options for check: --all is what CI does, see tools/check
#   BENCH=              options and groups for bench: BENCH="--json context ring"
BUILD = build
MESON_SETUP_FLAGS =
MESON = $(if $(shell command -v meson),meson,$(error meson is missing: run tools/deps first))
JOBS = $(shell nproc)

.PHONY: all deps build with-tests test check check-long demo demo-coro bench install format lint sanitize ports clean help
.NOTPARALLEL:

all: build

## build        build what is installed, into $(BUILD)/
build: $(BUILD)/build.ninja
	@$(MESON) compile -C $(BUILD) -j $(JOBS) product

$(BUILD)/build.ninja:
	$(MESON) setup $(BUILD) $(MESON_SETUP_FLAGS)

# Tests, examples and benchmarks are configured once they are asked for.
with-tests: $(BUILD)/build.ninja
	@tools/with-tests $(BUILD)

## deps         install what is needed from Debian's packages
deps:
	@tools/deps

## test         what answers in a minute: unit tests, rules of the tree, one recording and report
test:
	@tools/check --build $(BUILD) --quick

## check        dependencies, build, all tests but those that take long or are left to CI; ends with N passed, N failed, N skipped
check: deps
	@tools/check --build $(BUILD) $(CHECK)

## check-long   the same and the tests that take long
check-long: deps
	@tools/check --build $(BUILD) --all --long

## demo         dependencies, build; records the demo server under load, prints the report
demo: deps with-tests
	@$(MESON) compile -C $(BUILD) -j $(JOBS) demo
	@BUILD=$(BUILD) examples/demo.sh

## demo-coro    dependencies, build; coroutines in C, C++20 and Rust, one of which is never woken
demo-coro: deps with-tests
	@$(MESON) compile -C $(BUILD) -j $(JOBS) demo-coro
	@BUILD=$(BUILD) examples/demo-coro.sh

## bench        print the budgets of the hot paths as ratios
bench: deps with-tests
	@$(MESON) compile -C $(BUILD) -j $(JOBS) bench
	@bench/fetch-async-profiler $(BUILD)
	@$(BUILD)/bench/weft-bench $(BENCH)

## install      install under DESTDIR and prefix
install: $(BUILD)/build.ninja
	@$(if $(prefix),$(MESON) configure $(BUILD) -Dprefix=$(prefix))
	@$(MESON) compile -C $(BUILD) -j $(JOBS) product
	@$(MESON) install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

## format       let clang-format decide
format:
	@tools/lint --fix

## lint         messages of commits, clang-format and clang-tidy
lint: with-tests
	@$(MESON) compile -C $(BUILD) -j $(JOBS)
	@tools/lint --build $(BUILD)

## sanitize     the tests built with ASan + UBSan, and with TSan
sanitize:
	@tools/check --build $(BUILD) --only sanitize

## ports        musl: the runtime and its tests; aarch64: everything, its tests under qemu-user
ports:
	@tools/check --build $(BUILD) --only ports

## clean        remove everything that was built
clean:
	rm -rf build build-*

## help         this list
help:
	@sed -n 's/^## /  make /p' Makefile
