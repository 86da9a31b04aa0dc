#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stacks as weft's handler walks them, deep in libc without frame pointers: equal to what
# backtrace() says at the same place, down to where the program or the thread began; and the
# collector finds the same by walking the copy of the same sample.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

wanted=${WEFT_TEST_STACKS:-2000}

record() {
	bounded "$weft" record --stack check -F 250 --ring 4M -o "$work/deep.jfr" -- \
		"$tools/deep-stacks" "$wanted" >"$work/deep.out" 2>"$work/deep.err" &&
		bounded "$weft" report --json "$work/deep.jfr" >"$work/deep.json"
}

counter() { # NAME
	jq "[.. | objects | to_entries[] | select(.key == \"$1\") | .value | numbers] | add // 0" \
		"$work/deep.json"
}

all_equal() { # NAME: of the thread
	awk -v name="$1" -v wanted="$((wanted / 2))" '
		$1 == name {
			printf "%d stacks, %d equal, %d outermost, %d different, %d not walked, %d lost\n", $2, $3, $4, $5, $6, $7
			good = $2 == wanted && $3 == wanted && $4 == wanted && $5 + $6 + $7 == 0
		}
		END { exit !good }' "$work/deep.out"
}

both_walks_equal() {
	same 0 "$(counter check_different)" && at_least "$wanted" "$(counter check_equal)"
}

check "the program is recorded" record || { show "$work/deep.err"; finish; }
for thread in main thread; do
	check "$thread: all stacks equal backtrace()'s and reach the outermost frame" \
		all_equal "$thread"
	show "$work/check.out"
done
show "$work/deep.err"
check "the collector's walk of the copies finds the same" both_walks_equal
note "both walks alike: $(counter check_equal), different: $(counter check_different)"
finish
