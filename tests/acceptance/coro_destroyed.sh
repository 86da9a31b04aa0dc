#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Coroutines that are destroyed while suspended are not stuck, nor do they leak: a trace
# and a recording tell of them, so that one alone is a suspect, the one that was left behind.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
program=$BUILD/tests/acceptance/coro-destroyed
unset CTP_SHM_PATH CTP_SOCK_PATH CTP_MAX_STATIONS

traced() {
	bounded "$weft" coro run --extended -o "$work/trace.jsonl" -- "$program" || return 1
	grep -o '"dead":true\|"died":.*' "$work/trace.jsonl"
}

recorded() {
	bounded "$weft" record -F 100 -o "$work/c.jfr" -- "$program-linked"
}

reported() { # FILE COROUTINES ENDED
	bounded "$weft" coro report --json --stuck 500ms "$work/$1" >"$work/report" || return 1
	jq -c '.coroutines, .growth, .findings.stuck' "$work/report"
	same "$2 $3" "$(jq -r '"\(.coroutines.seen) \(.coroutines.ended)"' "$work/report")"
}

one_is_stuck() { # CONFIDENCE
	same "1 $1" "$(jq -r '[.findings.stuck[].confidence] | "\(length) \(first)"' "$work/report")" &&
		same waits_here "$(jq -r '.findings.stuck[0].where.name' "$work/report")"
}

none_leaks() {
	jq -c .growth "$work/report"
	same "true false" "$(jq -r '"\(.growth.is_judged) \(.growth.is_growing)"' "$work/report")"
}

# The lines are what they were: each has the six keys first, and is one event.
lines_are_events() {
	! grep -vE '^\{"probe_id":[0-9]+,"tid":[0-9]+,"addr":"0x[0-9a-f]{16}","seq":[0-9]+,"is_active":(true|false),"ts":[0-9]+[,}]' "$work/trace.jsonl" &&
		jq -c . "$work/trace.jsonl" | wc -l >"$work/count" &&
		same 70 "$(cat "$work/count")"
}

check "traced" traced
check "trace: all lines are events" lines_are_events
check "trace: all but one ended" reported trace.jsonl 14 13
check "trace: that one alone is stuck" one_is_stuck medium
check "trace: none leaks" none_leaks
check "without --extended the trace has no other key" sh -c \
	"timeout 60 '$weft' coro run -o '$work/plain' -- '$program' && ! grep -q 'died\|dead' '$work/plain'"
check "recorded" recorded
check "recording: all but one ended" reported c.jfr 14 13
check "recording: that one alone is stuck" one_is_stuck medium
check "recording: none leaks" none_leaks
finish
