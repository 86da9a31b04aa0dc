#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where a thread-local variable of another process is, in every thread of it: the address that
# weft computes is the one that the program tells, and the one that gdb finds by libthread_db.
# Programs and libraries in all ways of linking, with glibc and musl, of gcc and clang. Threads
# that block, that run, that came late, and one that never touched the variable.
#   WEFT_TLS_ALL=1  more shapes, clang's libraries too, and gdb is asked about every variant
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls/lib.sh"
have gcc || skip_all "gcc is not installed"
have gdb || note "gdb is not installed: the programs alone are asked"
all=${WEFT_TLS_ALL:-}

# variant TEXT PLACE FILE ORACLE UNTOUCHED: of the program that runs
variant() {
	check "$1: the threads tell" told || return
	check "$1: $2" place_is "$2" "$3"
	check "$1: our address is each thread's own" addresses_agree
	check "$1: a thread that never touched it: $5" untouched_is "$5"
	[ "$4" = gdb ] && have gdb && check "$1: gdb agrees about every thread" gdb_agrees
}

crowd=("threads 4" "spin 1" untouched)

# in_program TEXT ORACLE COMPILER OPTIONS...
in_program() {
	local text=$1 oracle=$2
	shift 2
	have "$1" || { skip "$text" "$1 is not installed"; return; }
	build program "$1" -DWHERE "$source/tls_variable.c" "${@:2}" ||
		{ skip "$text" "cannot be linked here: $(grep -m 1 error "$work/program.errors")"; return; }
	begin "$work/program"
	ask "${crowd[@]}"
	variant "$text" "${place:-local-exec static}" "$work/program" "$oracle" address
	end
}

in_program "gcc, PIE" gdb gcc -pie -fPIE
in_program "gcc, non-PIE" gdb gcc -no-pie -fno-pie
in_program "gcc, static" gdb gcc -static
in_program "gcc, static-pie" gdb gcc -static-pie -fPIE
place="initial-exec static" in_program "gcc, PIE of PIC objects, exported" "${all:+gdb}" \
	gcc -pie -fPIC -rdynamic
in_program "clang, PIE" "${all:+gdb}" clang -pie -fPIE
in_program "clang, non-PIE" "${all:+gdb}" clang -no-pie -fno-pie
in_program "clang, static" "${all:+gdb}" clang -static
in_program "musl, dynamic" musl musl-gcc
in_program "musl, static" musl musl-gcc -static
in_program "musl, static-pie" musl musl-gcc -static-pie -fPIE

# Blocks whose size is no multiple of their alignment.
shapes=("16 17" "4096 100")
[ -n "$all" ] && shapes+=("64 65" "64 3" "32 1")
for shape in "${shapes[@]}"; do
	options=("-DALIGNMENT=${shape% *}" "-DPAD_BYTES=${shape#* }")
	text="aligned to ${shape% *}, ${shape#* } bytes before"
	in_program "gcc, PIE, $text" "${all:+gdb}" gcc -pie -fPIE "${options[@]}"
	in_program "gcc, static, $text" "${all:+gdb}" gcc -static "${options[@]}"
	in_program "musl, dynamic, $text" musl musl-gcc "${options[@]}"
	in_program "musl, static, $text" musl musl-gcc -static "${options[@]}"
done

# What late libraries get of the loader's own reserve is used up before the library comes.
exhaust() {
	local bytes i
	for bytes in 200 16; do
		[ -e "$work/ballast$bytes.so" ] ||
			gcc -O1 -fPIC -shared -DBALLAST_BYTES=$bytes "$source/tls_ballast.c" \
				-o "$work/ballast$bytes.so" || return
		for i in $(seq 20); do
			cp -n "$work/ballast$bytes.so" "$work/ballast$bytes.$i.so"
			ask "ballast $work/ballast$bytes.$i.so"
		done
	done
}

# in_library TEXT ORACLE COMPILER WHEN PLACE OPTIONS...; WHEN: start, late, full
in_library() {
	local text=$1 oracle=$2 compiler=$3 when=$4 place=$5 untouched=address linked=()
	shift 5
	have "$compiler" || { skip "$text, $when" "$compiler is not installed"; return; }
	library "libvariable.so" "$compiler" "$@" ||
		{ skip "$text, $when" "not known to $compiler: $*"; return; }
	[ "$when" = start ] && linked=(-DWHERE "$work/libvariable.so" "-Wl,-rpath,$work")
	build program "$compiler" "${linked[@]}"
	# musl gives every thread its block when the library comes
	case $oracle:$place in gdb:*dynamic | quick:*dynamic)
		[ "$when" = start ] || untouched="errno ENODATA" ;;
	esac
	[ -n "$all" ] && [ "$oracle" = quick ] && oracle=gdb
	begin "$work/program"
	[ "$when" = full ] && exhaust
	[ "$when" = start ] || ask "threads 2" "load $work/libvariable.so"
	ask "${crowd[@]}"
	variant "$text, $when" "$place" "$work/libvariable.so" "$oracle" "$untouched"
	end
}

compilers=gcc
[ -n "$all" ] && compilers="gcc clang"
for compiler in $compilers; do
	in_library "$compiler, GNU dialect" quick $compiler start "general-dynamic dynamic"
	in_library "$compiler, GNU dialect" quick $compiler late "general-dynamic dynamic"
	in_library "$compiler, GNU dialect" gdb $compiler full "general-dynamic dynamic"
	in_library "$compiler, initial-exec" quick $compiler start "initial-exec static" \
		-ftls-model=initial-exec
	in_library "$compiler, initial-exec" quick $compiler late "initial-exec static" \
		-ftls-model=initial-exec
	for when in start late full; do
		in_library "$compiler, local-dynamic" quick $compiler $when \
			"local-dynamic dynamic" -ftls-model=local-dynamic -DIS_HIDDEN
	done
done
[ -n "$all" ] || in_library "clang, GNU dialect" quick clang late "general-dynamic dynamic"
if [ "$(uname -m)" = x86_64 ]; then
	descriptors=-mtls-dialect=gnu2
else
	descriptors=-mtls-dialect=desc
fi
in_library "gcc, descriptors" gdb gcc start "descriptor static" "$descriptors"
in_library "gcc, descriptors" gdb gcc late "descriptor static" "$descriptors"
in_library "gcc, descriptors" gdb gcc full "descriptor dynamic" "$descriptors"
in_library "gcc, descriptors, hidden" quick gcc start "descriptor static" "$descriptors" -DIS_HIDDEN
in_library "gcc, descriptors, hidden" quick gcc full "descriptor dynamic" "$descriptors" -DIS_HIDDEN
in_library "musl, descriptors" musl musl-gcc start "descriptor static" "$descriptors"
in_library "musl, descriptors" musl musl-gcc late "descriptor dynamic" "$descriptors"
in_library "musl, initial-exec" musl musl-gcc start "initial-exec static" -ftls-model=initial-exec
for when in start late; do
	in_library "musl, GNU dialect" musl musl-gcc $when "general-dynamic dynamic"
	in_library "musl, local-dynamic" musl musl-gcc $when "local-dynamic dynamic" \
		-ftls-model=local-dynamic -DIS_HIDDEN
done
finish
