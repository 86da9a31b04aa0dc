#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft record -e wall: options, what the file then holds, what is told.

load common

record() { weft record "$@"; }
report() { "$WEFT" report --json "$@"; }
settings() { # FILE TYPE: name=value of its settings, one a line
	"$WEFT" report --json --event all "$1" | jq -r --arg type "$2" '.events[$type].period_ns // 0'
}

@test "engines are cpu, wall or both, in any order; nothing else" {
	for engines in cpu wall cpu,wall wall,cpu; do
		record -e $engines -o $engines.jfr -- sleep 0.1
		expect_status 0
	done
	record -e cpu -e wall -o twice.jfr -- sleep 0.2
	expect_status 0
	expect_in "$err" " wall samples"
	for engines in spam cpu,spam cpu, ,; do
		record -e $engines -- true
		expect_status 2
		expect_in "$err" "--engine"
	done
	record -e xyzzy -- true
	expect_in "$err" "known: cpu, wall"
}

@test "rates: -F is of the only engine, --wall- of the wall engine, each in its bounds" {
	record -e wall -F 50 -o a.jfr -- sleep 0.5
	[ "$(settings a.jfr profiler.WallClockSample)" = 20000000 ]
	record -e wall -i 30ms -o a.jfr -- sleep 0.5
	[ "$(settings a.jfr profiler.WallClockSample)" = 30000000 ]
	record -e cpu,wall -i 30ms --wall-interval 40ms -o a.jfr -- sleep 0.5
	[ "$(settings a.jfr profiler.WallClockSample)" = 40000000 ]
	[ "$(settings a.jfr jdk.ExecutionSample)" = 30000000 ]
	record -e cpu,wall -o a.jfr -- sleep 0.5
	[ "$(settings a.jfr profiler.WallClockSample)" = 52631578 ]
	[ "$(settings a.jfr jdk.ExecutionSample)" = 5025125 ]
	record -e wall --wall-frequency 10 -F 20 -- true
	expect_status 2
	expect_in "$err" "--frequency and --wall-frequency: of one engine: give one of them"
	record -e cpu,wall --wall-frequency 10 --wall-interval 5ms -- true
	expect_status 2
	expect_in "$err" "give one of them"
	record -e wall --wall-interval 10us -- true
	expect_status 2
	expect_in "$err" "--wall-interval: '10us': a sample each 10000 ns is not between 1ms and 1h"
}

@test "options of the wall engine without it are usage errors" {
	for option in --wall-frequency=10 --wall-interval=10ms --wall-filter=context; do
		record $option -- true
		expect_status 2
		expect_in "$err" "the wall engine is not on; give -e wall or -e cpu,wall"
	done
	record -e wall --wall-filter some -- true
	expect_status 2
	expect_in "$err" "known: all, context"
}

@test "a program that sleeps: all its time, in one place, in few events" {
	record -e wall -F 50 -o out.jfr -- sleep 1
	expect_status 0
	expect_in "$err" " wall samples"
	expect_not grep -q '[0-9] samples' stderr
	report --by state out.jfr >rows
	[ "$(jq -r '.rows[0].key' rows)" = sleeping ]
	[ "$(jq '.time.blocked_ns > 500000000 and .weight_ns < 1600000000' rows)" = true ]
	[ "$(jq '.samples * 20000000 - .weight_ns | fabs <= 60000000' rows)" = true ]
	[ "$(jq '.thread_times | .threads == 1 and .off == 0' rows)" = true ]
	[ "$(jq '.events["profiler.WallClockSample"].events * 4 < .samples' rows)" = true ]
	[ "$(jq -r '.events["jdk.ExecutionSample"]' rows)" = null ]
	[ "$(sed -n 's/^weft record: \([0-9]*\) wall samples.*/\1/p' stderr)" = "$(jq .samples rows)" ]
}

@test "a program that computes: the same time by either engine" {
	record -e cpu,wall -F 100 --wall-frequency 50 -o out.jfr -- "$WEFT_BURN" 1500
	expect_status 0
	report out.jfr >cpu
	report --event wall --by state out.jfr >wall
	runnable=$(jq '[.rows[] | select(.key == "runnable") | .samples] | add' wall)
	[ "$(jq '.time' cpu)" = null ]
	[ "$(jq ".weight_ns - $runnable * 20000000 | fabs <= 40000000" cpu)" = true ]
	[ "$(jq '.account.used_ns - .time.running_ns | fabs <= 40000000' wall)" = true ]
	[ "$(report --event wall --by function --where state=runnable out.jfr |
		jq -r '[.rows[] | select(.key == "main") | .samples] | add')" = "$runnable" ]
}

@test "--threads: CPU samples of others are left out, counted" {
	record -F 200 --threads 'nobody*' -o out.jfr -- "$WEFT_BURN" 300
	expect_status 0
	expect_in "$err" "weft record: 0 samples"
	report out.jfr >rows || true
	[ "$(jq '.samples == 0 and .counters.samples_filtered > 0' rows)" = true ]
	record -F 200 --threads 'bur?' -o out.jfr -- "$WEFT_BURN" 300
	[ "$(report out.jfr | jq '.samples > 0 and .counters.samples_filtered == null')" = true ]
}

@test "--threads: a thread that took its name late is in the file under that name alone" {
	mkfifo fifo
	record -e cpu,wall --threads 'worker-*' -o out.jfr -- bash -c 'exec 3<>fifo
		read -rt 1.1 <&3
		printf worker-1 >/proc/$$/comm
		read -rt 2 <&3
		:'
	expect_status 0
	report --event all --by thread out.jfr >rows
	expect_in "$(jq -r '.rows[].key' rows)" "worker-1 ["
	[ "$(jq '.rows | length' rows)" = 1 ]
}

@test "--inline-context: ids in wall-clock samples too" {
	record -e cpu,wall --inline-context -o out.jfr -- "$WEFT_HELLO"
	expect_status 0
	[ "$(report --event all out.jfr | jq -c '[.events | keys[] | select(test("Sample$"))]')" = \
		'["weft.ExecutionSample","weft.WallClockSample"]' ]
}

@test "many chunks: a stay is in each, and its time is whole" {
	record -e wall -F 100 --chunk-time 150ms -o out.jfr -- sleep 1
	expect_status 0
	report --by state out.jfr >rows
	[ "$(jq '.events["profiler.WallClockSample"].events >= 3' rows)" = true ]
	[ "$(jq '.time.blocked_ns > 500000000 and .weight_ns < 1600000000' rows)" = true ]
}

@test "not dumpable, and we are not root: its time is there, its stacks are said to be missing" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	command -v setpriv >/dev/null || skip "no setpriv"
	[ -x /usr/bin/python3 ] || skip "no python3"
	chmod 777 "$BATS_TEST_TMPDIR"
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=$PWD"
	$as_nobody "$WEFT" --version >/dev/null 2>&1 || skip "the command cannot be run by others"
	mkdir -m 777 theirs
	$as_nobody "$WEFT" record -e wall -F 50 -o theirs/out.jfr -- /usr/bin/python3 -c \
		'import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(1)' 2>told
	expect_in "$(cat told)" "stacks not read: wall_unreadable"
	"$WEFT" report --json --by function --where state=sleeping theirs/out.jfr >rows
	[ "$(jq '[.rows[] | select(.key == "[unknown]")][0].total_ns > 500000000' rows)" = true ]
}
