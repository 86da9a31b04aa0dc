#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The instructions that the models stand on, in the code as gcc makes it for aarch64: the list of
# README.md, function by function. A barrier that vanished from the source shows here.
. "$(dirname "$0")/../acceptance/lib.sh"
arm=aarch64-linux-gnu
have $arm-gcc && have $arm-objdump || skip_all "no compiler for aarch64"
echo '#include <stdio.h>' | $arm-gcc -E - >/dev/null 2>&1 || skip_all "no C library for aarch64"
root=$(cd "$(dirname "$0")/../.." && pwd)

assembly() { # FILE: its disassembly, with nothing inlined that has a name below
	local object
	object=$work/$(basename "$1").o
	[ -f "$object.s" ] && return
	$arm-gcc -std=gnu11 -O2 -fPIC -fno-inline -ftls-model=initial-exec -march=armv8-a \
		-mno-outline-atomics -I "$root/src" -I "$root/include" -D_GNU_SOURCE \
		-c "$root/$1.c" -o "$object" || return 1
	$arm-objdump -d --no-show-raw-insn "$object" >"$object.s"
}

# FILE FUNCTION INSTRUCTION...: all of them are there.
has() {
	local listing found missing=0
	assembly "$1" || return 1
	listing=$work/$(basename "$1").o.s
	awk -v name="^<$2([.][a-z]+[.][0-9]+)*>:\$" '/^[0-9a-f]+ </ { inside = $2 ~ name } inside' \
		"$listing" >"$work/function"
	[ -s "$work/function" ] || {
		echo "no function $2"
		return 1
	}
	shift 2
	for found; do
		grep -qE "\\b$found\\b" "$work/function" || {
			echo "missing: $found"
			missing=1
		}
	done
	[ $missing = 0 ] || {
		cat "$work/function"
		return 1
	}
}

needs() { # FILE FUNCTION INSTRUCTION...
	check "$2: ${*:3}" has "$@"
}

needs src/runtime/core/slot try_to_open ldar
needs src/runtime/core/slot state_changes ldaxr stlxr
needs src/runtime/core/slot set_state stlr
needs src/runtime/core/slot end_life stlxr
needs src/runtime/core/slot slot_set_hint stlxr
needs src/runtime/core/ring ring_place ldar
needs src/runtime/core/ring ring_publish stlr
needs src/runtime/event/event_put ring_place ldar
needs src/runtime/event/event_put ring_publish stlr
needs src/runtime/stack/module_map weft_map_open ldar
needs src/runtime/stack/module_map weft_map_holds 'dmb.*ishld'
needs src/collector/session/session_drain session_state_changes ldaxr stlxr
needs src/collector/session/session_drain session_free_slot stlxr
needs src/collector/session/session_drain drain_live stlxr
needs src/collector/session/session_drain drain_slot ldar
needs src/collector/session/session_rings ring_reader_next ldar
needs src/collector/session/session_rings ring_reader_release stlr
needs src/collector/session/session_books session_books_read_once ldar
needs src/collector/session/session_books read_books 'dmb.*ishld'
needs src/collector/process/snapshot write_snapshot 'dmb.*ish' stlr
needs src/runtime/context/prepared weft_context_attach stlr
needs src/runtime/context/prepared weft_context_detach stlr
needs src/runtime/context/prepared_memory prepared_mark ldar
needs src/runtime/context/prepared_memory weft_prepared_alloc 'dmb.*ish'
needs src/collector/look/wall_labels read_own 'dmb.*ishld'
needs tests/models/coro_probe weft_coro_resume 'dmb.*ish' stlr
needs tests/models/coro_probe weft_coro_suspend 'dmb.*ish' stlr
needs tests/models/coro_probe weft_probe_settle 'dmb.*ish' stlr
needs tests/models/coro_probe weft_probe_tell 'dmb.*ish'
needs tests/models/coro_probe weft_probe_wake_engine ldaxr stlxr
needs tests/models/coro_probe weft_probe_pop ldar ldaxr stlxr
needs tests/models/coro_probe weft_probe_push ldxr stlxr
needs tests/models/coro_probe weft_probe_state_changes ldaxrb stlxrb
finish
