#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The models of tests/models/: each is searched whole and must hold; then each again with one
# named line removed (-DBREAK_NAME), and must fail.
#
#   run.sh [--long]     --long: the larger ones
. "$(dirname "$0")/../acceptance/lib.sh"
have spin || skip_all "spin is not installed"
models=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
patience=900

# Where a search takes seconds, the optimiser takes as long; where it ends at its first error, most
# of it is the compiler's, and the kernel's for a large table (2^N entries, -w). Long ones need memory.
whole_by="$cc -O1"
broken_by="$cc -O0"
! have clang || broken_by="clang -O0"
[ "${1:-}" != --long ] || whole_by="$cc -O2 -DCOLLAPSE"

# BUILT_BY TABLE MODEL FLAG...: generates, builds and runs the verifier, in a directory of its own.
search() {
	local built_by=$1 table=$2 model=$3
	shift 3
	rm -rf "$work/pan"
	mkdir "$work/pan"
	cd "$work/pan" || return 1
	spin -a "$@" "$models/$model.pml" >spin.out 2>&1 || {
		cat spin.out
		return 1
	}
	# shellcheck disable=SC2086 # a compiler with its options
	$built_by -w -DSAFETY -DMEMLIM=1500 -o pan pan.c || return 1
	bounded ./pan -m100000 "-w$table" >out 2>&1
	grep -E 'errors:|states, stored|assertion|max search depth|memory' out
}

# The whole state space, and nothing wrong in it.
holds() {
	search "$whole_by" 24 "$@" || return 1
	grep -q 'errors: 0$' out && ! grep -qiE 'max search depth too small|search not completed|aborted|out of memory' out
}

fails() { # MODEL FLAG...
	search "$broken_by" 20 "$@" || return 1
	grep -q 'assertion violated' out
}

whole() { # MODEL FLAG...
	check "$*: holds" holds "$@"
}

# Every named line of a model, with the flags of the variant that it matters in.
each_line() { # MODEL [NAME=FLAGS]...
	local model=$1 name flags word
	shift
	for name in $(grep -oE 'BREAK_[A-Z_]+' "$models/$model.pml" | sort -u); do
		flags=
		for word; do
			[ "${word%%=*}" = "$name" ] && flags=${word#*=}
		done
		# shellcheck disable=SC2086
		check "$model without ${name#BREAK_}: fails" fails "$model" "-D$name" $flags
	done
}

if [ "${1:-}" = --long ]; then
	whole slot -DGONE -DOPENER -DTIDY
	whole slot -DSAMPLES=1 -DLIVES=3
	whole samples -DRECORDS=5
	whole events -DAPPENDS=2
	whole coro_slot -DEVENTS=6
	whole coro_stations -DROUNDS=3
	finish
fi
whole slot
whole slot -DSAMPLES=1 -DOPENER
whole slot -DSAMPLES=1 -DTIDY
whole slot -DSAMPLES=1 -DGONE
whole slot -DALONE -DOPENER
each_line slot BREAK_CLAIM='-DSAMPLES=1 -DALONE -DOPENER' BREAK_REAP='-DSAMPLES=1 -DGONE' \
	BREAK_TIDY='-DSAMPLES=1 -DTIDY'
whole samples
each_line samples
whole events
each_line events
whole map
each_line map
whole prepared
each_line prepared
for model in coro_slot coro_identity coro_wake; do
	whole $model
	each_line $model
done
whole coro_stations
each_line coro_stations BREAK_TAG=-DROUNDS=3
finish
