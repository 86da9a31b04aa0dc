#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A recording that goes on: threads come and go, chunks are written; the collector's own
# memory after the second half is that after the first (what it maps of sessions is the
# programs'), and the books balance.
#
#   WEFT_SOAK_SECONDS=180
. "$(dirname "$0")/../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
seconds=${WEFT_SOAK_SECONDS:-180}
churn=$BUILD/tests/stress/churn

resident_kib() {
	awk '/^RssAnon/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

"$weft" record --chunk-time 2s -o "$work/soak.jfr" -- \
	timeout "$seconds" sh -c "while :; do '$churn' 2000 16 >/dev/null; done" 2>"$work/err" &
weft_pid=$!
started=("$weft_pid")
sleep $((seconds / 2))
half=$(resident_kib "$weft_pid")
sleep $((seconds / 2 - 2))
end=$(resident_kib "$weft_pid")
wait "$weft_pid"
note "resident, anonymous: $half KiB at half time, $end KiB at the end"
show "$work/err" 4

flat() { # a quarter and 1 MiB of grace: pools hold what names there are
	awk -v a="$half" -v b="$end" 'BEGIN { exit !(a > 0 && b <= a * 1.25 + 1024) }'
}

balanced() {
	same true "$("$weft" report "$work/soak.jfr" --json --top 1 |
		jq '(.counters.attempted // 0) > 0 and
		    (.counters.attempted // 0) == (.counters.delivered // 0) + ([.lost[]] | add // 0)')"
}

check "the collector's memory is flat" flat
check "the books balance" balanced
check "the samples are there" at_least $((seconds * 20)) "$(samples_in "$work/soak.jfr")"
finish
