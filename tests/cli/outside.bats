#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft record, seen from outside: threads that cannot be sampled are named, and those that no
# hook has seen are primed by a signal.

load common

counter() { # FILE NAME
	"$WEFT" report --json "$1" | jq ".counters.$2 // 0"
}

@test "threads that block SIGPROF by a raw call are named and counted" {
	weft record --clock ticks -o a.jfr -- "$WEFT_DEAF" block 1500
	expect_status 0
	[ "$out" = done ]
	line=$(grep 'could not be sampled' stderr)
	[[ $line =~ ^"weft record: 2 threads of deaf ["[0-9]+"] could not be sampled: " ]]
	[[ $line == *"worker-1 (blocks SIGPROF)"* ]]
	[[ $line == *"worker-2 (blocks SIGPROF)"* ]]
	[ "$(counter a.jfr threads_unsampled)" = 2 ]
}

@test "a process that replaced the handler by a raw call is named" {
	weft record --clock ticks -o a.jfr -- "$WEFT_DEAF" handler 1500
	expect_status 0
	grep -q '^weft record: 1 thread of deaf \[[0-9]*\] could not be sampled: worker-1 (its SIGPROF handler was replaced)$' stderr
	[ "$(counter a.jfr threads_unsampled)" = 1 ]
}

@test "nobody is named whose samples come" {
	weft record -o a.jfr -- "$WEFT_DEAF" hear 600
	expect_status 0
	[ "$(grep -c 'could not be sampled' stderr)" = 0 ]
	[ "$(counter a.jfr threads_unsampled)" = 0 ]
}

@test "threads that no hook has seen are found, signalled and sampled" {
	WEFT_HOOKS=-threads weft record -o a.jfr -- "$WEFT_DEAF" hear 2000
	expect_status 0
	# on a busy machine a handler may meet the second before a list does
	[ $(($(counter a.jfr threads_found) + $(counter a.jfr primed_handler))) -ge 2 ]
	[ "$(counter a.jfr threads_found)" -ge 1 ]
	[ "$(counter a.jfr priming_sent)" -ge 1 ]
	[ "$(counter a.jfr primed_signal)" -ge 1 ]
	[ "$("$WEFT" report --json a.jfr | jq .samples)" -gt 0 ]
}

@test "threads that no hook has seen and that block the signal get their timer from another" {
	WEFT_HOOKS=-threads weft record -o a.jfr -- "$WEFT_DEAF" urgent 2000
	expect_status 0
	[ "$(counter a.jfr priming_refused)" = 2 ]
	[ "$(counter a.jfr primed_handler)" = 2 ]
	[ "$(grep -c 'could not be sampled' stderr)" = 0 ]
	[ "$("$WEFT" report --json a.jfr | jq .samples)" -gt 0 ]
}

@test "threads that no hook has seen are named when there is no signal to reach them" {
	WEFT_HOOKS=-threads weft record --prime-signal none -o a.jfr -- "$WEFT_DEAF" hear 1500
	expect_status 0
	[ "$(counter a.jfr threads_unsampled)" = 2 ]
	line=$(grep 'could not be sampled' stderr)
	[[ $line == *"worker-1 (no hook saw it, and there is no priming signal)"* ]]
}

@test "--prime-signal: none sends none, a real-time one is sent, a wrong one is refused" {
	WEFT_HOOKS=-threads weft record --prime-signal none -o a.jfr -- "$WEFT_DEAF" hear 600
	expect_status 0
	[ "$(counter a.jfr priming_sent)" = 0 ]
	WEFT_HOOKS=-threads weft record --prime-signal rt -o a.jfr -- "$WEFT_DEAF" hear 2000
	expect_status 0
	[ "$(counter a.jfr primed_signal)" -ge 1 ]
	for wrong in 9 KILL 33 65 -1 ''; do
		weft record "--prime-signal=$wrong" -o a.jfr -- true
		expect_status 2
	done
}
