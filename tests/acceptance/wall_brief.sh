#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A thread for each request, which waits and ends, by the wall clock: no list of threads finds it in
# time, only looks at random times do. Against what the threads know themselves; five standard errors
# of as many looks as are due, and a quarter for what begins and ends between a look and its list.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"

seconds=${WEFT_TEST_SECONDS:-6}
hertz=75

record() { # MS
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency $hertz -- \
		"$tools/wall-brief" "$1" "$seconds" >"$work/own" 2>"$work/err"
}

waits_are_seen() {
	bounded "$weft" report --json --event wall --where state=sleeping --by function "$work/a.jfr" |
		jq '[.rows[] | select(.key == "wait_in_request") | .samples] | add // 0' |
		awk -v hertz=$hertz -v waited="$(cut -d' ' -f1 "$work/own")" '{
			due = waited / 1e9 * hertz
			printf "%.0f looks are due in %.2f s, seen %d\n", due, waited / 1e9, $1
			exit $1 < 0.75 * due - 5 * sqrt(due) || $1 > 1.05 * due + 5 * sqrt(due)
		}'
}

for ms in 8 40 120; do
	check "requests that wait $ms ms are recorded" record $ms || { show "$work/err"; finish; }
	check "their waits are seen" waits_are_seen
	show "$work/check.out"
done
finish
