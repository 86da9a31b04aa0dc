#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_elf: a small library with and without symbols, and with .debug_frame.
#	elf_seeds.sh DIRECTORY
set -eu
source=$(dirname "$0")/../unit/elf/fixture.c
build() {
	"${CC:-cc}" -O2 -shared -fPIC -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 "$@" "$source"
}
build -g0 -o "$1/whole.so"
build -g0 -Wl,-s -o "$1/stripped.so"
build -g1 -fno-asynchronous-unwind-tables -o "$1/debug.so"
