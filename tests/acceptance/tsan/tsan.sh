#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ThreadSanitizer finds no race in programs that have none, recorded as alone: with its runtime as a
# shared library, and as part of the program (there it stands before weft), of each compiler. What
# does not run alone is skipped.
. "$(dirname "$0")/../lib.sh"
source=$(cd "$(dirname "$0")" && pwd)/tsan.c
kinds='plain locks detached keys signals names processes jumps modules notifications c11 labels'
include=$(cd "$(dirname "$0")/../../../include" && pwd)
library=$BUILD/src/runtime
export TSAN_OPTIONS="exitcode=66:halt_on_error=0"

# Such a program's own memory must lie where its runtime expects it.
here=(setarch "$(uname -m)" -R)
"${here[@]}" true 2>/dev/null || here=()

is_clean() { # STATUS
	[ "$1" = 0 ] && same done "$(cat "$work/out")" && ! grep -q ThreadSanitizer "$work/err" || {
		echo "status $1"
		cat "$work/err"
		return 1
	}
}

alone() { # KIND
	bounded "${here[@]}" "$work/tsan" "$1" >"$work/out" 2>"$work/err"
	is_clean $?
}

recorded() { # KIND OPTION...
	local kind=$1
	shift
	bounded "${here[@]}" "$weft" record "$@" -F 500 -o "$work/x.jfr" -- "$work/tsan" "$kind" >"$work/out" 2>"$work/err"
	is_clean $?
}

try() { # BUILD KIND
	if ! alone "$2" >/dev/null; then
		skip "$1: $2" "does not run here alone"
		return
	fi
	check "$1: $2" recorded "$2"
	check "$1: $2, with the wall clock" recorded "$2" -e cpu,wall
	check "$1: $2, with waits" recorded "$2" --waits
}

build() { # NAME COMPILER OPTION...
	local name=$1 kind
	shift
	if ! have "$1" || ! "$@" -g -O1 -D_GNU_SOURCE -fsanitize=thread -pthread "-I$include" -o "$work/tsan" "$source" \
		"-L$library" -lweft "-Wl,-rpath,$library" >"$work/built" 2>&1; then
		skip "$name" "cannot be built here"
		return
	fi
	for kind in $kinds; do
		try "$name" "$kind"
	done
}

build "gcc, shared" gcc
build "gcc, static" gcc -static-libtsan
build "clang, static" clang
build "clang, shared" clang -shared-libsan "-Wl,-rpath,$(dirname "$(clang -print-file-name=libclang_rt.tsan-x86_64.so 2>/dev/null)")"
finish
