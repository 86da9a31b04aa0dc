#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# strangers.sh WEFT PROGRAM LIBRARY: a program with Custom Labels of its own (strangers.c) lives on
# under a recording with libcustomlabels-weft.so (LIBRARY) preloaded, and no sample has labels that
# its thread did not show: those of sets that the library does not know are read as another
# library's, or left out and counted.
set -u
weft=$1 program=$2 library=$3
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

ok() { # TEXT CONDITION...
	n=$((n + 1)) text=$1
	shift
	if "$@"; then
		echo "ok $n - $text"
	else
		status=1
		echo "not ok $n - $text"
		printf '# %s\n' "$*"
		sed 's/^/# /' "$scratch/log"
	fi
}

record() { # MODE OPTION...
	mode=$1
	shift
	LD_PRELOAD=$library "$weft" record -o "$scratch/$mode.jfr" "$@" -- "$program" "$mode" \
		2>"$scratch/log"
}

report() { # MODE FILTER
	"$weft" report --json --by label:tenant "$scratch/$1.jfr" | jq -r "$2"
}

samples() { report "$1" '[.rows[].samples] | add // 0'; }
of() { report "$1" "[.rows[] | select(.key == \"$2\") | .samples] | add // 0"; }
unrecorded() { report "$1" '[.. | .labels_unrecorded? | numbers] | add // 0'; }

for mode in place tenants; do
	record $mode
	ok "$mode: the program ends well" test $? -eq 0
	acme=$(of $mode acme) zeta=$(of $mode zeta) both=$((acme + zeta))
	echo "# $mode: acme $acme, zeta $zeta, labels_unrecorded $(unrecorded $mode)"
	ok "$mode: its own set is read as another library's, in either turn" \
		test "$((acme * 5))" -ge "$both" -a "$((zeta * 5))" -ge "$both" -a "$both" -ge 10

	record $mode --context-from weft
	ok "$mode, weft's alone: the program ends well" test $? -eq 0
	all=$(samples $mode) acme=$(of $mode acme) zeta=$(of $mode zeta) counted=$(unrecorded $mode)
	echo "# $mode: $all samples, acme $acme, zeta $zeta, labels_unrecorded $counted"
	ok "$mode, weft's alone: it was sampled" test "$all" -ge 10
	ok "$mode, weft's alone: no sample has labels of a set of unknown make" test "$acme" -eq 0 -a "$zeta" -eq 0
	ok "$mode, weft's alone: and that is counted" test "$counted" -ge 10
done

record library
ok "library: the program ends well" test $? -eq 0
all=$(samples library) acme=$(of library acme) zeta=$(of library zeta)
echo "# library: $all samples, acme $acme, zeta $zeta"
# Each has half of the time; samples come at their own pace, so a fifth is beyond any chance.
ok "library: the library's own sets are known, in either turn" \
	test "$((acme * 5))" -ge "$all" -a "$((zeta * 5))" -ge "$all" -a "$all" -ge 10
ok "library: nothing was left out" test "$(unrecorded library)" -eq 0
echo "1..$n"
exit $status
