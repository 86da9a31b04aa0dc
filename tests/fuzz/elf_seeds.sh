#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_elf: a small library with and without symbols, with .debug_frame,
# and one with DWARF of calls inlined in one another.
#	elf_seeds.sh DIRECTORY
set -eu
source=$(dirname "$0")/../unit/elf/fixture.c
build() {
	"${CC:-cc}" -O2 -shared -fPIC -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 "$@" "$source"
}
build -g0 -o "$1/whole.so"
build -g0 -Wl,-s -o "$1/stripped.so"
inlined=$(dirname "$0")/../unit/elf/places/other.c
source=$inlined
build -gdwarf-5 -nostdlib -o "$1/dwarf5.so"
build -gdwarf-4 -nostdlib -o "$1/dwarf4.so"
build -gdwarf-3 -gstrict-dwarf -nostdlib -o "$1/dwarf3.so"
build -g -gz -nostdlib -o "$1/packed.so"
source=$(dirname "$0")/../unit/elf/fixture.c
build -g1 -fno-asynchronous-unwind-tables -o "$1/debug.so"
