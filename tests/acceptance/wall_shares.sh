#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Short waits behind CPU work, by the wall clock, against what the threads themselves know of them.
# Judged by the number of looks, not by time: five standard errors of a share of as many independent
# samples, and half a point for what a loaded collector adds.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"

seconds=${WEFT_TEST_SECONDS:-20}
hertz=75

record() {
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency $hertz -- \
		"$tools/waits-shared" "$seconds" >"$work/own" 2>"$work/err"
}

samples_in() { # FUNCTION
	bounded "$weft" report --json --event wall --where state=sleeping --by function "$work/a.jfr" |
		jq --arg name "$1" '[.rows[] | select(.key == $name) | .samples] | add // 0'
}

short_share_is_true() {
	awk -v short="$(samples_in wait_briefly)" -v long="$(samples_in wait_long)" '{
		n = short + long; p = $1 / ($1 + $2)
		if (n < 100) exit 1
		error = sqrt(p * (1 - p) / n)
		printf "true %.2f %%, seen %.2f %%, standard error %.2f, %d looks\n",
			100 * p, 100 * short / n, 100 * error, n
		off = short / n - p
		exit (off < 0 ? -off : off) > 5 * error + 0.005
	}' "$work/own"
}

blocked_adds_up() {
	awk -v short="$(samples_in wait_briefly)" -v long="$(samples_in wait_long)" -v hertz=$hertz '{
		seen = (short + long) / hertz; own = ($1 + $2) / 1e9
		printf "blocked by their own clocks %.2f s, seen %.2f s\n", own, seen
		off = seen / own - 1
		exit !(own > 0) || (off < 0 ? -off : off) > 0.02
	}' "$work/own"
}

# Running, waiting for a CPU, blocked: half a hundredth of its life, and three standard errors of what
# it ran, which is told by some hundred samples of its CPU time.
each_thread_adds_up() {
	bounded "$weft" report --json --event wall --by thread "$work/a.jfr" |
		jq -r '.rows[] | .total_ns' | awk -v life="$(awk '{ print $3 }' "$work/own")" \
		-v hertz=$hertz -v ran=150 '{
			off = ($1 - life) / 1e9; n++
			printf "thread: %.2f s of %.2f s\n", $1 / 1e9, life / 1e9
			if ((off < 0 ? -off : off) > 0.005 * life / 1e9 + 3 * sqrt(ran) / hertz) bad = 1
		} END { exit bad || n != 7 }'
}

check "threads that wait behind CPU work are recorded" record || { show "$work/err"; finish; }
check "the short waits have their share" short_share_is_true
show "$work/check.out"
check "all that is blocked adds up" blocked_adds_up
show "$work/check.out"
check "each thread has all states for all its time" each_thread_adds_up
show "$work/check.out"
finish
