#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro run: what a program's coroutines wrote is in the trace or counted as lost.

load common

# number NAME [FILE]: of the statistics
number() { sed "s/.*\"$1\":\([0-9]*\)[,}].*/\1/" "${2:-stats}"; }

# traced ARG...: the program under the engine; trace in trace.jsonl, statistics in stats
traced() {
	rm -f trace.jsonl stats
	weft coro run -o trace.jsonl --stats stats $options -- "$WEFT_COROUTINES" "$@"
}

# The books balance, agree with the lines that there are, and with what the program wrote.
expect_books() {
	local written
	written=$(number written)
	[ "$written" = $(($(number harvested) + $(number lost) + $(number pending))) ]
	[ "$(number lost)" = $(($(number lost_lapped) + $(number lost_recycled) + $(number lost_mid_write) + $(number lost_unwritten))) ]
	[ "$(wc -l <trace.jsonl)" = "$(number harvested)" ]
	[ "$written" = "$1" ] || { echo "written $written, program $1"; cat stats; return 1; }
}

# Times never go back within a coroutine, and no line comes twice.
expect_order() {
	sed 's/{"probe_id":\([0-9]*\),.*"seq":\([0-9]*\),.*"ts":\([0-9]*\).*/\1 \2 \3/' trace.jsonl |
		awk '$3 < last[$1] { print "back: " $0; bad = 1 } seen[$0]++ { print "twice: " $0; bad = 1 }
			{ last[$1] = $3 } END { exit bad }'
}

# seq of dialect S comes eight times: there ts tells them apart
expect_order_of_ts() {
	sed 's/.*"ts":\([0-9]*\)}/\1/' trace.jsonl |
		awk '$1 <= last { print "back: " $0; bad = 1 } { last = $1 } END { exit bad }'
}

@test "coroutines of ours: all in the trace or counted" {
	traced ours 20 200 20
	expect_status 0
	expect_books "$out"
	expect_order
	[ "$(number coroutines)" = 20 ]
	[ "$(number processes)" = 1 ]
	expect_in "$err" "of 20 coroutines in 1 process"
}

@test "a line has the six keys and no more, in order" {
	traced ours 1 2
	expect_not grep -vE '^\{"probe_id":[0-9]+,"tid":[0-9]+,"addr":"0x[0-9a-f]{16}","seq":[0-9]+,"is_active":(true|false),"ts":[0-9]+\}$' trace.jsonl
	[ "$(wc -l <trace.jsonl)" = 4 ]
	[ "$(sed -n 1p trace.jsonl | grep -c '"is_active":true')" = 1 ]
	options=--extended
	traced ours 1 2
	expect_not grep -vE '"ts":[0-9]+,"pid":[0-9]+,"station":0,"generation":2,"birth":[0-9]+(,"dead":true)?\}$' trace.jsonl
	[ "$(tail -n 1 trace.jsonl | grep -c '"dead":true')" = 1 ]
}

@test "another engine's probes, in both dialects: nothing torn, nothing uncounted" {
	for dialect in s d; do
		traced legacy $dialect 5000 30
		expect_status 0
		expect_books 5000
		[ "$(number legacy)" = 1 ]
		# tid = 2 (ts - 1), addr = 3 (ts - 1), is_active = ts is odd
		sed 's/.*"tid":\([0-9]*\),"addr":"\(0x[0-9a-f]*\)","seq":\([0-9]*\),"is_active":\([a-z]*\),"ts":\([0-9]*\)}/\1 \2 \3 \4 \5/' trace.jsonl |
			awk -v dialect=$dialect '{ n = $5 - 1; seq = dialect == "d" ? n + 1 : 2 * (int(n / 8) + 1)
				if ($1 != 2 * n + 1 || $2 != sprintf("0x%016x", 3 * n) || $3 != seq ||
				    $4 != (n % 2 ? "false" : "true")) { print "torn: " $0; bad = 1 } }
				END { exit bad }'
		expect_order_of_ts
	done
}

@test "many short coroutines on few stations: none refused, all counted" {
	options="-n 128"
	traced short 20000
	expect_status 0
	expect_books 40000
	[ "$(number refused)" = 0 ]
	[ "$(number coroutines)" = 20000 ]
}

@test "too many at once are refused, and told" {
	options="-n 4"
	traced ours 10 4
	expect_status 0
	[ "$(number refused)" = 6 ]
	expect_books "$out"
	expect_in "$err" "refused 6 coroutines"
	options="-n 4 --fail-on-loss"
	traced ours 10 4
	expect_status 1
	expect_in "$err" "6 coroutines are not in the trace"
}

@test "forks have stations of their own" {
	traced forks 5 50
	expect_status 0
	expect_books "$out"
	[ "$(number processes)" = 5 ]
}

@test "an event that a program died over is told as such" {
	traced midwrite
	expect_status 137
	[ "$(number lost_mid_write)" = 1 ]
	expect_books 2
	expect_in "$err" "died in mid-write"
}

@test "who dies in a PID namespace of its own is buried" {
	unshare -p -f true 2>/dev/null || skip "no PID namespace to be had"
	weft coro run -o trace.jsonl --stats stats -- unshare -p -f sh -c '"$0" midwrite; true' \
		"$WEFT_COROUTINES"
	expect_status 0
	[ "$(number lost_mid_write)" = 1 ]
	[ "$(number live)" = 0 ]
	[ "$(number dead)" = 1 ]
	expect_books 2
}

@test "the program's status is passed on, and who cannot be run is told" {
	weft coro run -- sh -c 'exit 7'
	expect_status 7
	rm coro.jsonl
	weft coro run -- sh -c 'kill -TERM $$'
	expect_status 143
	rm coro.jsonl
	weft coro run -- ./nothing-here
	expect_status 127
	expect_in "$err" "./nothing-here: command not found"
	[ ! -s coro.jsonl ]
	rm -f coro.jsonl
	weft coro run -- /
	expect_status 126
}

@test "numbers of stations that cannot be are refused" {
	for n in 0 5000000000; do
		weft coro run -n $n -- true
		expect_status 2
		expect_in "$err" "-n: '$n' is not between 1 and 4294967295"
	done
	weft coro run --to xyz -- true
	expect_status 2
	expect_in "$err" "unknown value 'xyz'; known: jsonl"
	weft coro run
	expect_status 2
}

@test "other formats: by name, by extension, and as SQL text" {
	weft coro run --to csv -- "$WEFT_COROUTINES" ours 3 2
	expect_status 0
	[ "$(wc -l <coro.csv)" = 13 ]
	[ ! -e coro.jsonl ]
	weft coro run -o trace.sqlite -- "$WEFT_COROUTINES" ours 3 2
	expect_status 0
	[ "$(sqlite3 trace.sqlite 'SELECT count(*) FROM coro_trace_events')" = 12 ]
	weft coro run --to sql --table live -- "$WEFT_COROUTINES" ours 3 2
	expect_status 0
	[ "$(grep -c '^([0-9]' coro.sql)" = 12 ]
	grep -q '^INSERT INTO "live" ' coro.sql
	for to in postgres mysql; do
		weft coro run --to $to -- touch started
		expect_status 2
		expect_in "$err" "weft coro export --to sql"
		[ ! -e started ]
	done
	weft coro run --table here -- true
	expect_status 2
	expect_in "$err" "--table: jsonl has no table"
}

@test "nothing that is in the way is overwritten" {
	echo mine >coro.jsonl
	weft coro run -- true
	expect_status 1
	expect_in "$err" "coro.jsonl: exists already (--replace takes its place)"
	[ "$(cat coro.jsonl)" = mine ]
	weft coro run --replace -- true
	expect_status 0
	[ ! -s coro.jsonl ]
	echo mine >shm
	weft coro run --replace --shm shm -- true
	expect_status 1
	expect_in "$err" "shm: exists already"
	weft coro run --replace --sock shm -- true
	expect_status 1
	expect_in "$err" "shm: something is there already"
	[ "$(cat shm)" = mine ]
	ln -s target link
	for what in --shm --sock; do
		weft coro run --replace $what link -- true
		expect_status 1
	done
	weft coro run -o link -- true
	expect_status 1
	[ ! -e target ]
	weft coro run --sock "$(printf 'x%.0s' {1..120})" --replace -- true
	expect_status 1
	expect_in "$err" "107 characters"
	weft coro run --shm nowhere/shm --replace -- true
	expect_status 1
	expect_in "$err" "No such file or directory"
}

@test "nothing is left behind, and what is made is private" {
	mkdir run
	XDG_RUNTIME_DIR=$PWD/run weft coro run -- sh -c 'stat -c "%a %F" "$(dirname "$CTP_SHM_PATH")" "$CTP_SHM_PATH" "$CTP_SOCK_PATH"; echo "$CTP_MAX_STATIONS"'
	expect_status 0
	[ "$out" = "$(printf '700 directory\n600 regular file\n600 socket\n1024')" ]
	[ -z "$(ls -A run)" ]
}

@test "a full disk: the trace ends with a whole line, the program runs on" {
	status=0
	(
		trap '' XFSZ
		ulimit -f 40
		"$WEFT" coro run -n 20 -o trace.jsonl --json -- "$WEFT_COROUTINES" ours 20 200 50
	) >stdout 2>stderr || status=$?
	[ "$status" = 1 ]
	[ "$(cat stdout)" = 8000 ]
	expect_in "$(cat stderr)" "trace.jsonl: File too large"
	[ "$(tail -c 1 trace.jsonl | od -An -c | tr -d ' ')" = '\n' ]
	grep '"version"' stderr >stats
	expect_books 8000
	[ "$(number lost_unwritten)" -gt 0 ]
}

@test "a signal goes to the program, and the trace is whole" {
	"$WEFT" coro run -o trace.jsonl --stats stats -- "$WEFT_COROUTINES" hang 3 >stdout 2>stderr &
	local pid=$!
	until [ -s stdout ]; do sleep 0.01; done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" = 143 ]
	expect_books 6
	[ "$(number harvested)" = 6 ]
}

@test "a pipe without a reader is waited for, until a signal" {
	mkfifo pipe
	TMPDIR=$PWD XDG_RUNTIME_DIR=$PWD "$WEFT" coro run -o pipe -- touch started 2>stderr &
	local pid=$!
	until ls -d weft-coro-* >/dev/null 2>&1; do sleep 0.01; done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "pipe: Interrupted"
	[ ! -e started ]
	expect_not ls -d weft-coro-*
}

@test "a pipe that is read late: what is not in it is counted" {
	mkfifo pipe
	{
		exec 5<pipe
		until [ -e over ]; do sleep 0.01; done
		cat <&5 >trace.jsonl
	} &
	local reader=$!
	weft coro run -o pipe --stats stats -- sh -c '"$0" ours 500 1500; touch over' "$WEFT_COROUTINES"
	expect_status 0
	wait $reader
	expect_books "$out"
	expect_order
}


# Where the kernel does not keep time by the TSC there is no anchor: 77.
@test "time by the engine's anchor is the kernel's within 1 us; a stopped engine's runs out" {
	weft coro run -- "$WEFT_CORO_CLOCK"
	[ "$status" != 77 ] || skip "no TSC here"
	echo "# $out" >&3
	expect_status 0
}
