#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The three examples of a lost wakeup: traced, the one that is never woken is found, by the report
# and by an oracle of its own, with its span; not lossy, nobody is. The one in C is recorded, too:
# samples and switches have the request's context.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
examples=$BUILD/examples/coro
lost=000000000000101e # request 30 of 60
unset CTP_SHM_PATH CTP_SOCK_PATH CTP_MAX_STATIONS

# traced NAME ARGUMENTS...: into $work/trace.jsonl
traced() {
	rm -f "$work"/trace.jsonl*
	bounded "$weft" coro run --extended -o "$work/trace.jsonl" -- "$examples/$1" "${@:2}" \
		>"$work/out" 2>"$work/err"
	local status=$?
	cat "$work/out" "$work/err"
	return $status
}

exits_with() { # STATUS NAME ARGUMENTS...
	bounded "$examples/$2" "${@:3}" >"$work/out" 2>&1
	same "$1" $?
}

served() { # N of M
	cat "$work/out"
	grep -q "^served $1 of $2 " "$work/out"
}

# From the trace alone: of the coroutines that have a span (the requests), those that are not known
# to have ended, and were suspended half a second before its end.
oracle() {
	jq -s 'max_by(.ts).ts as $last | group_by(.probe_id) | map(max_by(.ts)) |
		map(select(has("context") and (.is_active | not) and (.dead | not) and
			$last - .ts > 500000000))' "$work/trace.jsonl" >"$work/oracle" &&
		jq -c '.[]' "$work/oracle"
}

oracle_says() { # COUNT
	oracle && same "$1" "$(jq length "$work/oracle")"
}

report_says() { # FILE COUNT
	bounded "$weft" coro report --json --stuck 500ms "$1" >"$work/report" || return 1
	jq -c '.coroutines, .findings.stuck' "$work/report"
	jq '[.findings.stuck[] | select(has("span_id"))]' "$work/report" >"$work/stuck"
	same "$2" "$(jq length "$work/stuck")"
}

report_knows_it() {
	jq -c . "$work/stuck"
	same "$lost" "$(jq -r '.[0].span_id' "$work/stuck")" &&
		same "$(jq -r '.[0].addr' "$work/oracle")" "$(jq -r '.[0].where.addr' "$work/stuck")"
}

oracle_knows_it() {
	oracle
	jq -r '.[0].context' "$work/oracle" | grep -q -- "-$lost-"
}

# Its process is gone: what it had mapped was noted beside the trace.
report_names_it() {
	jq -c '.[0].where' "$work/stuck"
	jq -r '.[0].where.name' "$work/stuck" | grep -Eq 'serve|reply'
}

# Each has a place of its own that waits; in a trace of the six keys, at that.
two_programs_have_names() {
	rm -f "$work"/trace.jsonl*
	bounded "$weft" coro run -o "$work/trace.jsonl" -- sh -c \
		"'$examples/stuck-c' --lose & '$examples/stuck-cpp' --lose; wait" >"$work/out" 2>&1
	bounded "$weft" coro report --json "$work/trace.jsonl" >"$work/report" || return 1
	jq -r '.by.site[].name | select(. != null)' "$work/report" >"$work/names"
	cat "$work/names"
	grep -q '^serve+' "$work/names" && grep -q '^serve(' "$work/names" &&
		! grep -q '^0x' "$work/names"
}

nothing_beside_standard_output() {
	mkdir -p "$work/empty"
	(cd "$work/empty" && bounded "$weft" coro run -o - -- "$examples/stuck-c" 20 2 2>"$work/err") >"$work/lines"
	ls "$work/empty"
	at_least 1 "$(wc -l <"$work/lines")" && [ -z "$(ls "$work/empty")" ]
}

# ---- while it runs: the program is stopped once the lost one has waited, so that all look at one
# and the same moment. Too late (a busy machine): once more.
live_lost=00000000000012ee # request 750 of 1500

spans_of() { # FILTER: of what the last command printed
	jq -r "$1 | .span_id // empty" "$work/live.json"
}

stop_when_stuck() { # NAME
	local pid=
	rm -rf "$work"/live*
	"$weft" coro run -n 4096 --shm "$work/live.shm" -o "$work/live.jsonl" -- "$examples/$1" --lose 1500 \
		>"$work/live.out" 2>&1 &
	engine=$!
	while kill -0 $engine 2>/dev/null; do
		bounded "$weft" coro report --json --stuck 200ms "$work/live.shm" >"$work/live.json" 2>/dev/null || continue
		spans_of '.findings.stuck[]' | grep -q $live_lost || continue
		pid=$(jq -r '.findings.stuck[0].pid' "$work/live.json")
		kill -STOP "$pid" && stopped=$pid && return 0
	done
	wait $engine
	return 1
}

stopped_in_time() { # NAME
	for _ in 1 2 3 4 5; do
		stop_when_stuck "$1" && return 0
	done
	cat "$work/live.out"
	return 1
}

ps_lists_it() {
	bounded "$weft" coro ps --json --stuck 200ms "$work/live.shm" >"$work/live.json" || return 1
	jq -c '.coroutines[]' "$work/live.json"
	spans_of '.coroutines[]' | grep -q $live_lost &&
		bounded "$weft" coro ps "$stopped" >"$work/live.text" && grep -Eq 'suspended .*(serve|reply)' "$work/live.text"
}

top_lists_it() {
	bounded "$weft" coro top --once --stuck 200ms --lints "$work/live.shm" >"$work/live.text" </dev/null || return 1
	cat "$work/live.text"
	grep -q "S .*$live_lost\|$live_lost.* S\|(serve\|serve" "$work/live.text"
}

live_report_is_sure() { # all three tell of wakes
	bounded "$weft" coro report --json --stuck 200ms "$stopped" >"$work/live.json" || return 1
	jq -c '.coroutines, .findings.stuck' "$work/live.json"
	spans_of '.findings.stuck[] | select(.confidence == "high")' | grep -q $live_lost &&
		jq -r '.findings.stuck[].where.name' "$work/live.json" | grep -Eq 'serve|reply'
}

goes_on() {
	kill -CONT "$stopped" && wait $engine
	cat "$work/live.out"
	grep -q "^served 1499 of 1500 " "$work/live.out"
}

for language in c cpp rust; do
	if [ ! -x "$examples/stuck-$language" ]; then
		skip "$language" "not built"
		continue
	fi
	check "$language: traced while it loses a wakeup" traced "stuck-$language" --lose
	check "$language: all but one are served" served 59 60
	check "$language: one waits at the end, by the trace" oracle_says 1
	check "$language: it is the request that the example says" oracle_knows_it
	check "$language: one waits at the end, by the report" report_says "$work/trace.jsonl" 1
	check "$language: the same one, there" report_knows_it
	check "$language: with the name of the place" report_names_it
	check "$language: traced while it loses none" traced "stuck-$language"
	check "$language: all are served" served 60 60
	check "$language: none waits, by the trace" oracle_says 0
	check "$language: none waits, by the report" report_says "$work/trace.jsonl" 0
	check "$language: stopped while one waits" stopped_in_time "stuck-$language"
	check "$language: ps lists it" ps_lists_it
	check "$language: top shows it" top_lists_it
	check "$language: a report of what runs is sure of it" live_report_is_sure
	check "$language: it goes on, and all but one are served" goes_on
	check "$language: not traced, it does the same" sh -c \
		"timeout 60 '$examples/stuck-$language' 20 2 | grep '^served 20 of 20 '"
	check "$language: -5 requests are wrong usage" exits_with 2 "stuck-$language" -5
	check "$language: no thread is wrong usage" exits_with 2 "stuck-$language" 20 0
done

if [ -x "$examples/stuck-cpp" ]; then
	check "places of two programs in one trace have names" two_programs_have_names
fi
check "nothing is written beside standard output" nothing_beside_standard_output

# ---- recorded

recorded() {
	bounded "$weft" record -F 250 -o "$work/c.jfr" -- "$examples/stuck-c" --lose 1500 >"$work/out" 2>"$work/err"
	local status=$?
	cat "$work/out" "$work/err"
	return $status
}

# A request computes twice as much as the store does for it, and more.
samples_have_labels() {
	bounded "$weft" report --json --top 0 --by label:route "$work/c.jfr" >"$work/report" || return 1
	jq -c '.samples, .rows' "$work/report"
	for route in /cart /checkout /search; do
		at_least 5 "$(jq --arg r $route '[.rows[] | select(.key == $r) | .samples] | add // 0' "$work/report")" ||
			return 1
	done
	at_least 0.6 "$(jq '([.rows[] | select(.key | startswith("/")) | .samples] | add // 0) / .samples' "$work/report")"
}

one_is_likely() {
	bounded "$weft" coro report --json --stuck 500ms "$work/c.jfr" >"$work/report" || return 1
	jq -c '.not_recorded, .growth' "$work/report"
	jq '[.findings.stuck[] | select(has("span_id"))]' "$work/report" >"$work/stuck"
	same 1 "$(jq length "$work/stuck")"
}

recording_knows_it() {
	jq -c . "$work/stuck"
	same 00000000000012ee "$(jq -r '.[0].span_id' "$work/stuck")" # request 750 of 1500
}

check "recorded" recorded
check "recorded: all but one are served" served 1499 1500
check "samples have the label of the request that ran" samples_have_labels
check "one waits at the end, by the recording" one_is_likely
check "recorded: it is the request that the example says" recording_knows_it
finish
