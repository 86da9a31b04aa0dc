#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro dump and weft coro conform over files that were left, and the name coroTracer.

load common

number() { sed "s/.*\"$1\":\([0-9]*\)[,}].*/\1/" "$2"; }

# kept ARG...: the program under an engine that leaves its file, shm
kept() {
	weft coro run -n 64 --keep --shm shm -o trace.jsonl -- "$WEFT_COROUTINES" "$@"
}

# put OFFSET BYTE...: into shm
put() {
	local offset=$1
	shift
	# shellcheck disable=SC2059
	printf "$(printf '\\x%s' "$@")" | dd of=shm bs=1 seek="$offset" conv=notrunc status=none
}

@test "dump: the last events of each coroutine, and the books" {
	kept ours 10 30
	weft coro dump --stats stats shm
	expect_status 0
	[ "$(wc -l <stdout)" = 80 ]
	[ "$(number written stats)" = 600 ]
	[ "$(number lost_lapped stats)" = 520 ]
	[ "$(number harvested stats)" = 80 ]
	first=$out
	weft coro dump -o again.jsonl shm
	[ "$(cat again.jsonl)" = "$first" ]
	weft coro dump -o again.jsonl shm
	expect_status 1
	expect_in "$err" "again.jsonl: File exists"
}

@test "dump: an event that its program died over is counted, not shown" {
	kept midwrite
	weft coro dump --json shm
	expect_status 0
	[ "$(wc -l <stdout)" = 1 ]
	[ "$(number lost_mid_write stderr)" = 1 ]
}

@test "dump: what is no cTP file is refused" {
	echo text >text
	weft coro dump text
	expect_status 1
	expect_in "$err" "text: no cTP file"
	weft coro dump nothing
	expect_status 1
	expect_in "$err" "No such file"
}

@test "dump, conform: a file that is shorter than it says" {
	kept ours 40 1
	truncate -s $((1024 + 10 * 1024)) shm
	weft coro dump shm
	expect_status 0
	[ "$(wc -l <stdout)" = 20 ]
	weft coro conform shm
	expect_status 1
	expect_in "$out" "holds 10 stations, its header says 64"
	truncate -s 500 shm
	weft coro conform shm
	expect_status 1
	expect_in "$err" "no cTP file"
}

@test "conform: probes of all dialects conform" {
	for what in 'ours 10 30' 'short 300' 'legacy s 100' 'legacy d 100' 'legacy s 1' 'legacy d 1' midwrite; do
		rm -f shm* trace.jsonl
		# shellcheck disable=SC2086
		kept $what
		weft coro conform shm
		expect_status 0
		expect_in "$out" "conforms"
		expect_not grep -q '^broken' stdout
	done
}

# Stations begin at 1024; a station's slots at 64, 64 bytes each; seq at 24, is_active at 63.
@test "conform: each rule finds who breaks it" {
	local slot0=$((1024 + 64))
	# rule, then where and what
	while read -r rule place bytes; do
		rm -f shm* trace.jsonl
		kept ours 3 20
		# shellcheck disable=SC2086
		put $((place)) $bytes
		weft coro conform shm
		expect_status 1
		grep -q "^broken .*: $rule: " stdout || { echo "$rule was not found:"; cat stdout; return 1; }
		weft coro conform --json shm
		expect_status 1
		expect_in "$out" "\"rule\":\"$rule\""
	done <<-END
		slot-order slot0+24 04
		gap slot0+24 02 00
		time slot0+0 ff ff ff ff ff ff ff 7f
		is-active slot0+63 07
		kind slot0+60 02
		payload slot0+62 09
		tid slot0+8 00 00 00 00 00 00 00 00
		state 1024+19 02
		is-dead 1024+16 05
		pid 1024+24 00 00 00 00
		generation 1024+20 00 00 00 00
		totals 1024+576 00 00 00
		histogram 1024+640 ff ff
		first-event 1024+48 ff ff
		index 1024+28 ff ff ff 0f
		header 44 07
		reserved 104 01
		recycle 128 ff ff
		allocated 16 01
	END
}

@test "conform: two writers on one station of dialect S" {
	kept legacy s 100
	put $((1024 + 64 + 64 + 24)) 19
	put $((1024 + 64 + 128 + 24)) 19
	weft coro conform shm
	expect_status 1
	expect_in "$out" "two writers on one station"
}

@test "coroTracer: the flags of that engine, its file and its status" {
	ln -s "$WEFT" coroTracer
	status=0
	./coroTracer -n=0x40 --shm c.shm -sock c.sock -out t.jsonl -cmd "$WEFT_COROUTINES ours 3 2" >stdout 2>stderr || status=$?
	[ "$status" = 0 ]
	grep -qx 'Target command finished successfully' stdout
	[ "$(wc -l <t.jsonl)" = 12 ]
	[ -f c.shm ]
	[ ! -e c.sock ]
	# a left-over file is replaced, lines are added
	./coroTracer -shm c.shm -sock c.sock -out t.jsonl -cmd "$WEFT_COROUTINES ours 3 2" >stdout 2>stderr
	[ "$(wc -l <t.jsonl)" = 24 ]
	./coroTracer -shm c.shm -sock c.sock -out t.jsonl -cmd 'exit 3' >stdout 2>stderr || status=$?
	[ "$status" = 1 ]
}

@test "coroTracer: wrong flags, wrong numbers, things in the way" {
	ln -s "$WEFT" coroTracer
	for flags in "-n 0 -cmd true" "-n 5000000000 -cmd true" "" "-cmd true -export csv" "-export tsv"; do
		status=0
		# shellcheck disable=SC2086
		./coroTracer $flags 2>stderr || status=$?
		[ "$status" = 1 ] || { echo "$flags: $status"; return 1; }
	done
	./coroTracer -zz 2>stderr || status=$?
	[ "$status" = 2 ]
	echo mine >c.shm
	status=0
	./coroTracer -shm c.shm -sock c.sock -out t.jsonl -cmd true 2>stderr || status=$?
	[ "$status" = 1 ]
	[ "$(cat c.shm)" = mine ]
	ln -s c.shm link
	status=0
	./coroTracer -shm link -sock c.sock -out t.jsonl -cmd true 2>stderr || status=$?
	[ "$status" = 1 ]
	[ "$(cat c.shm)" = mine ]
}

@test "coroTracer: a file that lives is not replaced" {
	ln -s "$WEFT" coroTracer
	"$WEFT" coro run --shm c.shm -o trace.jsonl -- "$WEFT_COROUTINES" hang 1 >stdout 2>stderr &
	local pid=$! rc=0
	until [ -s stdout ]; do sleep 0.01; done
	./coroTracer -shm c.shm -sock c.sock -out t.jsonl -cmd true 2>err || rc=$?
	[ "$rc" = 1 ]
	expect_in "$(cat err)" "in use"
	kill -TERM $pid
	wait $pid || true
	[ "$(wc -l <trace.jsonl)" = 2 ]
}

@test "coroTracer: exports beside the trace" {
	ln -s "$WEFT" coroTracer
	./coroTracer -shm c.shm -sock c.sock -out a.b.jsonl -cmd "$WEFT_COROUTINES ours 3 2" >stdout 2>stderr
	./coroTracer -export CSV -in a.b.jsonl
	[ "$(head -n 1 a.b.csv)" = probe_id,tid,addr,seq,is_active,ts ]
	[ "$(wc -l <a.b.csv)" = 13 ]
	./coroTracer -export dataframe -in a.b.jsonl -csv-out some/where/x.csv
	cmp a.b.csv some/where/x.csv
}
