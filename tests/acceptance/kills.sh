#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Either side dies by SIGKILL: what was recorded stays, and the other side goes on.
. "$(dirname "$0")/lib.sh"

child_of() { # the process that weft runs
	awk '{ print $1 }' "/proc/$1/task/$1/children"
}

has_child() {
	[ -n "$(child_of "$1")" ]
}

record_burn() { # FILE SECONDS OPTION...
	local file=$1 seconds=$2
	shift 2
	"$weft" record "$@" -o "$file" -- "$tools/burn" "$seconds" 2 >"$work/out" 2>"$work/err" &
	weft_pid=$!
	started+=("$weft_pid")
	await 50 has_child "$weft_pid" || return 1
	target=$(child_of "$weft_pid")
	started+=("$target")
}

kill_target() {
	record_burn "$work/target.jfr" 60 || return 1
	sleep 1.5
	kill -9 "$target" || return 1
	wait "$weft_pid"
	same 137 $?
}

# About 1.5 s of two threads at 199 Hz; a slow machine gives them less.
holds_everything() {
	at_least 30 "$(samples_in "$work/target.jfr")"
}

# Of the last third of a second too: samples do not end long before the kill.
holds_the_end() {
	"$tools/list-samples" "$work/target.jfr" | awk -F'\t' '
		NR == 1 { first = $1 } { last = $1 }
		END { printf "%.2f s from first to last sample\n", (last - first) / 1e9; exit !(last - first > 0.8e9) }'
}

kill_collector() {
	record_burn "$work/collector.jfr" 2 --chunk-time 300ms || return 1
	sleep 1.2
	kill -9 "$weft_pid" || return 1
	wait "$weft_pid" 2>/dev/null
	kill -0 "$target"
}

target_finishes() {
	await 200 grep -q burnt "$work/out" && await 50 eval '! kill -0 $target'
}

# All chunks that were whole: half a second before the kill is in them.
whole_chunks_are_there() {
	at_least 10 "$(samples_in "$work/collector.jfr")"
}

# A pipeline does not wait for a collector that is gone, nor the other way round.
pipeline_ends() {
	local got
	got=$(bounded "$weft" record -o "$work/pipe.jfr" -- "$tools/burn" 0.2 2>/dev/null | cat)
	same burnt "$got"
}

check "kill -9 of the target: weft passes on 128 + 9" kill_target
check "... the file opens and holds the samples" holds_everything
check "... up to the end" holds_the_end
check "kill -9 of the collector: the target runs on" kill_collector
check "... and finishes with its output whole" target_finishes
check "... the file opens and holds the chunks that were whole" whole_chunks_are_there
check "a recorded program at the head of a pipeline" pipeline_ends
finish
