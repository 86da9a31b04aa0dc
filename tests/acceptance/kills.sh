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
	record_burn "$work/target.jfr" 60 -F 200 || return 1
	await 600 has_used "$target" 150 || return 1
	used=$(cpu_time_of "$target")
	kill -9 "$target" || return 1
	wait "$weft_pid"
	same 137 $?
}

lost_in() { # FILE
	"$weft" report --counters "$1" | awk '$2 ~ /^lost_/ { n += $1 } END { print n + 0 }'
}

# Whole to the end: of the CPU time that it had used at the kill a tenth of a second may be missing,
# which it took to start.
holds_everything() {
	local taken lost
	taken=$(samples_in "$work/target.jfr")
	lost=$(lost_in "$work/target.jfr")
	echo "used: $used hundredths; samples: $taken, lost: $lost"
	[ "$taken" -gt "$lost" ] && at_least "$((2 * used - 20))" "$((taken + lost))"
}

# In chunks that are whole.
has_samples() {
	[ "$(samples_in "$1" 2>/dev/null)" -ge 10 ]
}

kill_collector() {
	record_burn "$work/collector.jfr" 2 --chunk-time 300ms || return 1
	await 600 has_samples "$work/collector.jfr" || return 1
	kill -9 "$weft_pid" || return 1
	wait "$weft_pid" 2>/dev/null
	kill -0 "$target"
}

target_finishes() {
	await 600 eval '! kill -0 $target' && grep -q burnt "$work/out"
}

# All chunks that were whole.
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
check "... the file opens and holds the samples, up to the end" holds_everything
check "kill -9 of the collector: the target runs on" kill_collector
check "... and finishes with its output whole" target_finishes
check "... the file opens and holds the chunks that were whole" whole_chunks_are_there
check "a recorded program at the head of a pipeline" pipeline_ends
finish
