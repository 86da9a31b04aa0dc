#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The probe as its users compile it: by each compiler and C library there is, from no optimisation
# to the most, strict C11, static, with a shared object beside it, without a warning; then run over
# a shared file. Four translation units of two languages are one probe.
. "$(dirname "$0")/../../acceptance/lib.sh"
root=$(cd "$(dirname "$0")/../../.." && pwd)
here=$root/tests/unit/probe
warnings="-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"

# COMPILER FLAG...: the program of C alone
builds_and_runs() {
	rm -f "$work/units"
	# shellcheck disable=SC2086
	"$@" $warnings -I "$root/include" -o "$work/units" "$here"/units_main.c "$here"/units_other.c \
		-pthread || return 1
	bounded "$work/units" "$work/shared"
}

with_cpp() { # C COMPILER, C++ COMPILER, FLAG...
	local cc=$1 cpp=$2 unit
	shift 2
	rm -f "$work"/*.o "$work/units"
	for unit in main other; do
		# shellcheck disable=SC2086
		$cc "$@" $warnings -DWITH_CPP -I "$root/include" -c -o "$work/$unit.o" "$here/units_$unit.c" || return 1
	done
	# shellcheck disable=SC2086
	$cpp "$@" $warnings -std=c++11 -I "$root/include" -o "$work/units" "$here/units_cpp.cpp" "$work"/*.o \
		-pthread || return 1
	bounded "$work/units" "$work/shared"
}

# COMPILER FLAG...: a coroutine that goes from thread to thread, of the program or of a library
migrates() {
	rm -f "$work/migrates"
	# shellcheck disable=SC2086
	"$@" $warnings -I "$root/include" -o "$work/migrates" "$here/migrates.c" -pthread || return 1
	bounded "$work/migrates"
}

migrates_in_library() {
	rm -f "$work/migrates" "$work/libmigrates.so"
	# shellcheck disable=SC2086
	"$@" $warnings -fPIC -shared -Dmain=migrates -I "$root/include" -o "$work/libmigrates.so" \
		"$here/migrates.c" -pthread || return 1
	echo 'int migrates(void); int main(void) { return migrates(); }' >"$work/calls.c"
	"$1" -o "$work/migrates" "$work/calls.c" "$work/libmigrates.so" -Wl,-rpath,"$work" || return 1
	bounded "$work/migrates"
}

# COMPILER FLAG...: a library and a program that each have a probe, and each other's coroutines
apart() {
	rm -f "$work/apart" "$work/libapart.so"
	# shellcheck disable=SC2086
	"$@" $warnings -fPIC -shared -DLIBRARY -I "$root/include" -o "$work/libapart.so" "$here/apart.c" || return 1
	# shellcheck disable=SC2086
	"$@" $warnings -I "$root/include" -o "$work/apart" "$here/apart.c" "$work/libapart.so" \
		-Wl,-rpath,"$work" || return 1
	bounded "$work/apart"
}

for cc in gcc clang musl-gcc; do
	have $cc || continue
	for flags in "-O0 -std=c11" "-O3" "-O2 -static" "-O2 -flto -fno-pie -no-pie"; do
		case "$cc $flags" in
		clang*lto*) continue ;; # needs a linker that speaks its
		esac
		# shellcheck disable=SC2086
		check "$cc $flags" builds_and_runs $cc $flags
		# shellcheck disable=SC2086
		check "$cc $flags, from thread to thread" migrates $cc $flags
	done
	check "$cc, a library and a program" apart $cc -O2
	check "$cc, a library, from thread to thread" migrates_in_library $cc -O3
done
check "gcc and g++" with_cpp gcc g++ -O2
check "clang and clang++" with_cpp clang clang++ -O0
check "gcc and g++, -O3 -flto" with_cpp gcc g++ -O3 -flto
finish
