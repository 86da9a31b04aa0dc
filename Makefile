# SPDX-License-Identifier: Apache-2.0
# Front door: every target is one command of Meson or of tools/. `make help` lists them.
#
#   BUILD=build         where things are built; the command is $(BUILD)/weft
#   prefix=/usr/local   for install, with DESTDIR
#   BENCH=              options and groups for bench: BENCH="--json context ring"
BUILD = build
MESON_SETUP_FLAGS =
MESON = $(if $(shell command -v meson),meson,$(error meson is missing: run tools/deps first))
JOBS = $(shell nproc)

.PHONY: all deps build check check-long demo demo-coro bench install format lint sanitize ports clean help
.NOTPARALLEL:

all: build

## build        build everything into $(BUILD)/
build: $(BUILD)/build.ninja
	@$(MESON) compile -C $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja:
	$(MESON) setup $(BUILD) $(MESON_SETUP_FLAGS)

## deps         install what is needed from Debian's packages
deps:
	@tools/deps

## check        dependencies, build and all tests; ends with N passed, N failed, N skipped
check: deps
	@tools/check --build $(BUILD)

## check-long   the same and the tests that take long
check-long: deps
	@tools/check --build $(BUILD) --long

## demo         dependencies, build; records the demo server under load, prints the report
demo: deps build
	@BUILD=$(BUILD) examples/demo.sh

## demo-coro    dependencies, build; coroutines in C, C++20 and Rust, one of which is never woken
demo-coro: deps build
	@BUILD=$(BUILD) examples/demo-coro.sh

## bench        print the budgets of the hot paths as ratios
bench: deps build
	@bench/fetch-async-profiler $(BUILD)
	@$(BUILD)/bench/weft-bench $(BENCH)

## install      install under DESTDIR and prefix
install: $(BUILD)/build.ninja
	@$(if $(prefix),$(MESON) configure $(BUILD) -Dprefix=$(prefix))
	@$(MESON) compile -C $(BUILD) -j $(JOBS)
	@$(MESON) install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

## format       let clang-format decide
format:
	@tools/lint --fix

## lint         clang-format and clang-tidy
lint: build
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
