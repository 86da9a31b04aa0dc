#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads are called as they were named, however soon they are gone, and by whoever; and those
# that have no timer are told with the true cause.

load common

# Samples by thread's name: {"name": samples}. Shares are none of this file's business.
names() {
	"$WEFT" print --json --events jdk.ExecutionSample "$1" |
		jq -c '[.recording.events[].values.eventThread.osName] | group_by(.) |
			map({key: .[0], value: length}) | from_entries'
}

# The names of the threads that worked for a span, one a line
of_span() {
	"$WEFT" print --json --events weft.Span "$1" | jq -r --arg span "$2" '.recording.events[].values |
		select((.spanId | ltrimstr("000000000000000")) == $span) | .eventThread.osName' | sort -u
}

@test "a thread that names itself first thing and is gone before anybody looks" {
	weft record -o a.jfr -- "$WEFT_NAMES" short 100
	expect_status 0
	names a.jfr
	[ "$(names a.jfr | jq '."short-worker" // 0')" -gt 0 ]
	[ "$(names a.jfr | jq -r 'keys[] | select(. != "short-worker" and . != "names")')" = "" ]
	# The main thread waits: what it takes itself is a sample or two of a hundred threads.
	names a.jfr | jq -e '(.names // 0) * 5 < ."short-worker"'
}

@test "a thread that another one names; and its child, which takes that name over" {
	weft record -o a.jfr -- "$WEFT_NAMES" other
	expect_status 0
	[ "$(of_span a.jfr 3)" = called-by-other ]
	[ "$(of_span a.jfr 4)" = called-by-other ]
}

@test "a new name holds at once, in the same part of the file" {
	weft record -o a.jfr -- "$WEFT_NAMES" again
	expect_status 0
	[ "$(of_span a.jfr 1)" = before ]
	[ "$(of_span a.jfr 2)" = after ]
}

@test "no timer after no_new_privs: that is the reason told, not pending signals" {
	weft record -o a.jfr -- "$WEFT_NAMES" confined
	expect_status 0
	expect_in "$err" "1 thread had no CPU timer, thus no samples: begun after their program had set no_new_privs"
	expect_not grep -q 'pending signals' stderr
}
