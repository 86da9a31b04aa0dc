#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro run at its limits: who dies over an event, few stations, no room, files that shrink.
# WEFT_SHORT: how many short coroutines.

load common

number() { sed "s/.*\"$1\":\([0-9]*\)[,}].*/\1/" "${2:-stats}"; }

# The books balance, and agree with a trace of whole lines.
expect_books() {
	[ "$(number written)" = $(($(number harvested) + $(number lost) + $(number pending))) ]
	[ "$(number lost)" = $(($(number lost_lapped) + $(number lost_recycled) + $(number lost_mid_write) + $(number lost_unwritten))) ]
	python3 - "$(number harvested)" <<-'END'
		import json, sys
		lines = open("trace.jsonl", "rb").read()
		assert not lines or lines.endswith(b"\n")
		events = [json.loads(line) for line in lines.splitlines()]
		assert len(events) == int(sys.argv[1]), len(events)
		assert len({(e["probe_id"], e["seq"]) for e in events}) == len(events)
	END
}

# traced OPTION... -- ARG...: the program under the engine
traced() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f trace.jsonl stats
	weft coro run -o trace.jsonl --stats stats "${options[@]}" -- "$WEFT_COROUTINES" "$@"
}

@test "a slot left odd is told, and repaired before its station is used again" {
	traced -n 1 --extended --keep --shm shm -- heir
	expect_status 0
	expect_books
	[ "$out" = 7 ]
	[ "$(number harvested)" = 7 ]
	[ "$(number lost_mid_write)" = 1 ]
	[ "$(number stations)" = 1 ]
	[ "$(number coroutines)" = 2 ]
	expect_in "$err" "lost 1 of 8: 1 whose writer died in mid-write"
	# event 1, which has seq 4, is the one; the heir goes on behind it
	[ "$(sed 's/.*"seq":\([0-9]*\).*"generation":\([0-9]*\).*/\1:\2/' trace.jsonl | xargs)" = "2:2 6:4 8:4 10:4 12:4 14:4 16:4" ]
	weft coro conform shm
	expect_status 0
	expect_in "$out" "conforms"
}

@test "many processes, each killed at some moment" {
	traced -n 16 --keep --shm shm -- storm 40
	expect_status 0
	expect_books
	[ "$(number pending)" = 0 ]
	[ "$(number live)" = 0 ]
	[ "$(number coroutines)" -ge 16 ]
	if [ "$(number lost_mid_write)" -gt 0 ]; then
		expect_in "$err" "whose writer died in mid-write"
	fi
	weft coro conform shm
	expect_status 0
	weft coro dump --stats left shm
	expect_status 0
	[ "$(number written left)" = $(($(number harvested left) + $(number lost left))) ]
}

@test "a storm of forks" {
	traced -n 256 -- forks 50 20
	expect_status 0
	expect_books
	[ "$(number written)" = "$out" ]
	[ "$(number processes)" = 50 ]
	[ "$(number refused)" = 0 ]
}

@test "10 coroutines on 4 stations, many short ones on 128" {
	traced -n 4 -- ours 10 5
	expect_status 0
	expect_books
	[ "$(number refused)" = 6 ]
	[ "$(number written)" = 40 ]
	traced -n 128 -- short "${WEFT_SHORT:-1000000}"
	expect_status 0
	expect_books
	[ "$(number refused)" = 0 ]
	[ "$(number coroutines)" = "${WEFT_SHORT:-1000000}" ]
	[ "$(number written)" = $((2 * ${WEFT_SHORT:-1000000})) ]
}

@test "one is busy among many that are idle" {
	traced -n 20001 -- idle 20000 300 2000
	expect_status 0
	expect_books
	[ "$(number written)" = 600 ]
	[ "$(number harvested)" -gt 300 ]
	[ "$(number coroutines)" = 20001 ]
	[ "$(number sweeps)" -gt 0 ]
	[ "$(number sweeping_ns)" -ge "$(number sweep_ns)" ]
	[ "$(number sweep_ns)" -gt 0 ]
}

@test "the engine is killed: the program goes on, and ends with its own status" {
	mkfifo input
	# shellcheck disable=SC2016
	mkdir run
	XDG_RUNTIME_DIR=$PWD/run "$WEFT" coro run --shm shm -o trace.jsonl -- sh -c '"$WEFT_COROUTINES" until 7 <input >said; echo $? >status' 2>stderr &
	local engine=$!
	exec 7>input
	until [ -s said ] && [ -s trace.jsonl ]; do sleep 0.01; done
	kill -KILL $engine
	wait $engine || true
	[ ! -e status ]
	exec 7>&-
	until [ -s status ]; do sleep 0.01; done
	[ "$(cat status)" = 7 ]
	weft coro conform shm
	expect_status 0
	weft coro dump --stats stats shm
	expect_status 0
	[ "$(number written)" = "$(tail -n 1 said)" ]
	[ "$(number harvested)" = 8 ]
	# one that comes too late writes what is left, behind what is there
	weft coro run --attach shm -o trace.jsonl --stats stats
	expect_status 0
	expect_books
	[ "$(number written)" = "$(tail -n 1 said)" ]
	[ ! -e shm ]
	[ -z "$(ls -A run)" ]
}

@test "the shared file is cut short: the program runs on, what was traced stays" {
	mkfifo input
	"$WEFT" coro run --shm shm -o trace.jsonl --stats stats -- "$WEFT_COROUTINES" until 7 <input >said 2>stderr &
	local engine=$!
	exec 7>input
	until [ -s trace.jsonl ]; do sleep 0.01; done
	truncate -s 0 shm
	exec 7>&-
	status=0
	wait $engine || status=$?
	[ "$status" = 1 ]
	[ "$(tail -n 1 said)" -gt 0 ]
	expect_in "$(cat stderr)" "the shared file was cut short"
	expect_books
	[ "$(number harvested)" -gt 0 ]
}

# on_small_disk BYTES COMMAND...: with a file system of that size at ./disk
on_small_disk() {
	mkdir -p disk
	# shellcheck disable=SC2016
	unshare -m bash -c 'mount -t tmpfs -o size="$0" tmpfs disk && "$@"' "$@"
}

@test "a full disk below the shared file: told, or traced as far as it reaches" {
	unshare -m true 2>/dev/null || skip "may not mount a small file system (needs root)"
	status=0
	on_small_disk 8k "$WEFT" coro run --shm disk/shm -o trace.jsonl -- "$WEFT_COROUTINES" ours 500 4 >stdout 2>stderr || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "No space left on device"
	[ ! -s stdout ]
	for size in 40k 100k 300k; do
		rm -f trace.jsonl stats
		status=0
		on_small_disk $size "$WEFT" coro run --shm disk/shm -o trace.jsonl --stats stats -- "$WEFT_COROUTINES" ours 500 4 >stdout 2>stderr || status=$?
		[ "$status" -le 1 ]
		[ -s stdout ]
		expect_books
		[ "$(number stations)" -lt 500 ]
	done
}

@test "a directory that is not to be written to" {
	mkdir closed
	chmod 500 closed
	for what in "-o closed/trace.jsonl" "-o t.jsonl --shm closed/shm" "-o t.jsonl --sock closed/sock"; do
		status=0
		# shellcheck disable=SC2016,SC2086
		if [ "$(id -u)" = 0 ]; then
			unshare -m true 2>/dev/null || skip "root writes everywhere, and cannot mount"
			unshare -m bash -c 'mount --bind closed closed && mount -o remount,ro,bind closed && "$@"' \
				bash "$WEFT" coro run $what -- touch ran 2>stderr || status=$?
		else
			"$WEFT" coro run $what -- touch ran 2>stderr || status=$?
		fi
		[ "$status" = 1 ]
		grep -Eq 'closed/[a-z.]+: (Read-only file system|Permission denied)' stderr || { cat stderr; false; }
		[ ! -e ran ]
		rm -f t.jsonl
	done
}

@test "a device that is full" {
	weft coro run -o /dev/full --stats stats -- "$WEFT_COROUTINES" ours 5 100
	expect_status 1
	[ "$out" = 1000 ]
	expect_in "$err" "/dev/full: No space left on device"
	[ "$(number harvested)" = 0 ]
	[ "$(number lost)" = 1000 ]
	[ -c /dev/full ]
}

@test "a file of its own for every part: none takes another's place" {
	for what in "1 --shm same --sock same" "2 -o same --shm same" "1 -o same --sock same"; do
		rm -f same same.progress
		# shellcheck disable=SC2086
		weft coro run ${what#* } -- touch ran
		expect_status "${what%% *}"
		[ ! -e ran ]
	done
	ln -s elsewhere shm.progress
	weft coro run --shm shm -o trace.jsonl -- touch ran
	expect_status 1
	expect_in "$err" "shm.progress"
	[ ! -e elsewhere ]
	[ ! -e ran ]
}
