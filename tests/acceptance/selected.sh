#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What contextual events are for: with select, of a hundred thousand short waits a second those in
# the requests that somebody cares about, every one, in a file no larger than one that has the long
# waits alone; spans in which nothing happened cost nothing; and a thread that sleeps is triggered
# by a sample from outside. Counts are the program's own; figures are printed.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
unset WEFT_SETTINGS

count() { # FILE TYPE
	"$weft" summary --json "$1" | jq "[.events[] | select(.name == \"$2\") | .count] | add // 0"
}

own() { # NAME KEY
	jq ".$2" "$work/$1.own"
}

record() { # NAME OPTIONS -- CMD
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" --ring 4M "$@" >"$work/$name.own" 2>"$work/$name.err"
	local status=$?
	cat "$work/$name.err"
	return $status
}

size() {
	stat -c %s "$work/$1.jfr"
}

serve() { # NAME SETTINGS
	local began ended
	began=$(date +%s%N)
	record "$1" --set "$2" -- "$tools/spans-and-waits" 8 300 || return 1
	ended=$(date +%s%N)
	echo "$1: $(own "$1" waits) waits, $(($(own "$1" waits) * 1000 / ((ended - began) / 1000000))) a second," \
		"$(count "$work/$1.jfr" app.Wait) in the file of $(size "$1") bytes" >>"$work/figures"
}

thresholded() {
	serve thresholded 'app.Wait#threshold=10 ms' &&
		at_least 1 "$(count "$work/thresholded.jfr" app.Wait)"
}
check "with a threshold: the long waits alone" thresholded

selected() {
	serve selected 'app.Wait#threshold=0 ns,app.Wait#select=if-context' &&
		same "$(own selected waits_in_spans)" "$(count "$work/selected.jfr" app.Wait)" &&
		same "$(own selected spans)" "$(count "$work/selected.jfr" app.Request)"
}
check "threshold 0 with if-context: every wait inside of spans, and no other" selected

within_twice() {
	[ "$(size selected)" -le $((2 * $(size thresholded))) ]
}
check "... in a file of at most twice the size" within_twice

everything() {
	serve all 'app.Wait#threshold=0 ns' &&
		same "$(own all waits)" "$(count "$work/all.jfr" app.Wait)"
}
check "without it: all of them" everything

is_inside() { # the JDK's way to find it: by thread, at the event's end
	"$weft" print --json --events app.Wait,app.Request "$work/selected.jfr" |
		jq -e '[.recording.events[] | .values.eventThread.osThreadId] | length > 0' >/dev/null &&
		"$weft" print --context --events app.Wait "$work/selected.jfr" >"$work/context" &&
		same "$(own selected waits_in_spans)" "$(grep -c 'Context: Request.number' "$work/context")" &&
		same "$(own selected waits_in_spans)" "$(grep -c 'Context: Span.spanId' "$work/context")"
}
check "each of them is shown with its request, and its span" is_inside

nothing() {
	record idle --set 'app.Request#select=if-triggered,jdk.ExecutionSample#enabled=false' \
		-- "$tools/spans-and-waits" --idle 1000000 || return 1
	"$weft" report --counters "$work/idle.jfr" >"$work/idle.counters" 2>&1
	echo "a million spans with nothing in them: $(size idle) bytes" >>"$work/figures"
	same 1000000 "$(own idle spans)" && same 0 "$(count "$work/idle.jfr" app.Request)" &&
		grep -Eq '^ *0 +events_attempted' "$work/idle.counters" &&
		grep -Eq '^ *1000000 +events_untriggered' "$work/idle.counters"
}
check "if-triggered: a million spans in which nothing happened cost no byte in ring or file" nothing

requests_that_slept() { # NAME
	"$weft" print --json --events app.Request "$work/$1.jfr" |
		jq '[.recording.events[].values | select(.sleeps)] | length'
}

from_outside() {
	record quiet --set 'jdk.ExecutionSample#enabled=false' -- "$tools/ticker" sleeps 5 &&
		same 0 "$(count "$work/quiet.jfr" app.Request)" &&
		record outside -e wall --wall-interval 10ms -- "$tools/ticker" sleeps 5 &&
		same 5 "$(requests_that_slept outside)"
}
check "a sample taken from outside triggers the span of a thread that sleeps" from_outside

samples_obey() {
	record inside -e wall --wall-interval 10ms --set 'profiler.WallClockSample#select=if-context' \
		--set 'app.Request#select=all' -- "$tools/ticker" sleeps 5 &&
		at_least 5 "$(count "$work/inside.jfr" profiler.WallClockSample)" || return 1
	record off -e wall --wall-interval 10ms --set 'profiler.WallClockSample#enabled=false' \
		-- "$tools/ticker" sleeps 3 &&
		same 0 "$(count "$work/off.jfr" profiler.WallClockSample)"
}
check "wall-clock samples: if-context takes those in a contextual event; off takes none" samples_obey

cpu_samples() {
	record cpu -F 997 --set 'jdk.ExecutionSample#select=if-context' -- "$tools/spans-and-waits" 4 200 || return 1
	"$weft" report --counters "$work/cpu.jfr" >"$work/cpu.counters" 2>&1
	grep samples_unselected "$work/cpu.counters"
	grep -Eq '^ *[1-9][0-9]* +samples_unselected' "$work/cpu.counters"
}
check "CPU samples: if-context leaves others out, counted" cpu_samples

note "$(sed "1!s/^/# /" "$work/figures")"
finish
