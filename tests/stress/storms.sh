#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Storms ten times as long as those of `make check`: execs, forks and short threads. No
# process is killed, no slot leaks, no sample is lost for want of one, the books balance.
#
#   WEFT_STORM=10000: forks and execs, a third of it execs in a row, ten times it threads
. "$(dirname "$0")/../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
churn=$BUILD/tests/stress/churn
patience=1200
count=${WEFT_STORM:-10000}

record() { # NAME EXPECTED COMMAND...
	local name=$1 expected=$2
	shift 2
	bounded "$weft" record -F 1000 -o "$work/$name.jfr" -- "$@" >"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	same "$expected" "$(cat "$work/out")"
}

value() { # NAME MEMBER
	"$weft" report "$work/$1.jfr" --json --top 1 | jq "$2 // 0"
}

balanced() { # NAME: attempted = delivered + lost, nothing pending
	same true "$("$weft" report "$work/$1.jfr" --json --top 1 |
		jq '(.counters.attempted // 0) == (.counters.delivered // 0) + ([.lost[]] | add // 0)')" || {
		"$weft" report "$work/$1.jfr" --counters
		return 1
	}
}

check "$count forks and execs: none killed" \
	record forks "$count children, 0 failed" "$tools/storm" "$count"
check "... the books balance" balanced forks
check "$((count / 3)) execs in a row: not killed" record chain "chain: 0 failed" "$tools/storm" --chain $((count / 3))
check "${count}0 short threads" record threads "${count}0 threads, 0 failed" "$churn" "${count}0" 16
check "... the books balance" balanced threads
check "... none without a slot" same 0 "$(value threads .lost.no_slot)"
check "... in slots used again and again" at_least "$(value threads .counters.slots_high)" 4096
finish
