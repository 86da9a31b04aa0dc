#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro export: files. SQL is loaded into servers in tests/acceptance/coro_servers.sh.

load common

timelines() { python3 "$WEFT_SOURCE/tests/cli/timelines.py" "$@"; }

perfetto_text() { protoc --decode Trace -I "$WEFT_SOURCE/src/export" perfetto.proto; }

# Three events, one with numbers at the end of what there is.
small() {
	cat >small.jsonl <<-END
	{"probe_id":7,"tid":100,"addr":"0x0000000000401000","seq":2,"is_active":true,"ts":1000}

	{"probe_id":7,"tid":100,"addr":"0x0000000000401010","seq":4,"is_active":false,"ts":2500,"other":[1,{"x":"}"}]}
	{"probe_id":18446744073709551615,"tid":9223372036854775808,"addr":"0xffffffffffffffff","seq":18446744073709551614,"is_active":false,"ts":18446744073709551615}
	END
}

six() {
	cat <<-END
	probe_id,tid,addr,seq,is_active,ts
	7,100,0x0000000000401000,2,true,1000
	7,100,0x0000000000401010,4,false,2500
	18446744073709551615,9223372036854775808,0xffffffffffffffff,18446744073709551614,false,18446744073709551615
	END
}

@test "csv: the header and the six fields, to the last digit" {
	small
	weft coro export --to csv -o - small.jsonl
	expect_status 0
	six | diff -u - stdout
	[ "$err" = "" ]
}

@test "csv: standard input, and from there to standard output" {
	small
	"$WEFT" coro export --to csv - <small.jsonl >out.csv
	six | diff -u - out.csv
}

@test "csv: --extended has what else is known" {
	cat >known.jsonl <<-END
	{"probe_id":1,"tid":5,"addr":"0x0000000000000010","seq":2,"is_active":true,"ts":50,"pid":4,"station":3,"generation":2,"birth":40,"context":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	{"probe_id":1,"tid":5,"addr":"0x0000000000000010","seq":4,"is_active":false,"ts":60,"pid":4,"station":3,"generation":2,"birth":40,"dead":true,"payload":"c0ffee"}
	END
	weft coro export --to csv --extended -o - known.jsonl
	expect_status 0
	diff -u - stdout <<-END
	probe_id,tid,addr,seq,is_active,ts,pid,station,generation,birth,dead,trace_id,span_id,payload
	1,5,0x0000000000000010,2,true,50,4,3,2,40,,0af7651916cd43dd8448eb211c80319c,b7ad6b7169203331,
	1,5,0x0000000000000010,4,false,60,4,3,2,40,true,,,c0ffee
	END
}

@test "jsonl: the same trace again" {
	timelines make plain 3 500 >in.jsonl
	weft coro export -o out.jsonl in.jsonl
	expect_status 0
	cmp in.jsonl out.jsonl
}

@test "sqlite: table, indexes and rows" {
	timelines make plain 1 3000 >in.jsonl
	weft coro export --to sqlite in.jsonl
	expect_status 0
	[ "$(sqlite3 in.sqlite 'PRAGMA integrity_check')" = ok ]
	sqlite3 in.sqlite "SELECT probe_id, tid, addr, seq, CASE is_active WHEN 1 THEN 'true' ELSE 'false' END, ts
		FROM coro_trace_events ORDER BY id" | tr '|' , >rows
	weft coro export --to csv -o - in.jsonl
	sed 1d stdout | cmp - rows
	sqlite3 in.sqlite "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1" >indexes
	diff -u - indexes <<-END
	idx_coro_trace_events_probe_seq
	idx_coro_trace_events_tid_ts
	idx_coro_trace_events_ts
	END
	sqlite3 in.sqlite "SELECT type, \"notnull\" FROM pragma_table_info('coro_trace_events') WHERE name <> 'id'" >types
	diff -u - types <<-END
	TEXT|1
	INTEGER|1
	TEXT|1
	INTEGER|1
	INTEGER|1
	INTEGER|1
	END
	sqlite3 in.sqlite "EXPLAIN QUERY PLAN SELECT * FROM coro_trace_events WHERE tid = 1 AND ts > 5" |
		grep -q idx_coro_trace_events_tid_ts
	expect_not sqlite3 in.sqlite "INSERT INTO coro_trace_events VALUES (NULL, '1', 1, '', 1, 2, 1)" 2>/dev/null
}

@test "sqlite: numbers above 2^63 are exact, and in order" {
	small
	weft coro export -o out.sqlite small.jsonl
	expect_status 0
	sqlite3 out.sqlite 'SELECT probe_id, tid, seq, ts, typeof(ts) FROM coro_trace_events ORDER BY ts' >rows
	diff -u - rows <<-END
	7|100|2|1000|integer
	7|100|4|2500|integer
	18446744073709551615|0x8000000000000000|0xfffffffffffffffe|0xffffffffffffffff|text
	END
}

@test "sql: the same text, wherever it goes, and nothing of a damaged trace" {
	small
	weft coro export --to sql --replace --table 'a"b' -o - small.jsonl
	expect_status 0
	diff -u - stdout <<-'END'
	SET NAMES 'UTF8';
	/*!SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES') */;
	CREATE TABLE IF NOT EXISTS "a""b" (id SERIAL PRIMARY KEY,
	  probe_id DECIMAL(20,0) NOT NULL, tid DECIMAL(20,0) NOT NULL,
	  addr VARCHAR(18) NOT NULL, seq DECIMAL(20,0) NOT NULL,
	  is_active BOOLEAN NOT NULL, ts DECIMAL(20,0) NOT NULL);
	START TRANSACTION;
	DELETE FROM "a""b";
	INSERT INTO "a""b" (probe_id, tid, addr, seq, is_active, ts) VALUES
	(7,100,'0x0000000000401000',2,TRUE,1000),
	(7,100,'0x0000000000401010',4,FALSE,2500),
	(18446744073709551615,9223372036854775808,'0xffffffffffffffff',18446744073709551614,FALSE,18446744073709551615);
	COMMIT;
	CREATE INDEX IF NOT EXISTS "idx_a""b_probe_seq" ON "a""b" (probe_id, seq);
	CREATE INDEX IF NOT EXISTS "idx_a""b_tid_ts" ON "a""b" (tid, ts);
	CREATE INDEX IF NOT EXISTS "idx_a""b_ts" ON "a""b" (ts);
	END
	weft coro export --replace --table 'a"b' -o out.sql small.jsonl
	cmp out.sql <("$WEFT" coro export --to sql --replace --table 'a"b' -o - small.jsonl)
	echo rubbish >>small.jsonl
	weft coro export --to sql small.jsonl
	expect_status 1
	[ ! -e small.sql ]
	weft coro export --to sql -o - small.jsonl
	expect_status 1
	expect_not grep -q COMMIT stdout
}

@test "timelines: chrome and perfetto show what the trace says" {
	for seed in 1 2; do
		for kind in plain lost crossed unsorted; do
			timelines make $kind $seed 1500 >t.jsonl
			weft coro export --longest 20 -o t.json t.jsonl
			expect_status 0
			weft coro export --longest 20 -o t.pftrace t.jsonl
			expect_status 0
			perfetto_text <t.pftrace >t.txt
			timelines check $kind 20 t.jsonl t.json t.txt
		done
	done
}

@test "timelines: the same trace gives the same file" {
	timelines make crossed 4 1000 >t.jsonl
	for format in chrome perfetto; do
		weft coro export --to $format -o one t.jsonl
		weft coro export --to $format -o two t.jsonl
		cmp one two
	done
}

@test "timelines: a run whose end nobody saw ends where its thread does something else" {
	cat >t.jsonl <<-END
	{"probe_id":1,"tid":9,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":1000}
	{"probe_id":2,"tid":9,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":3001}
	{"probe_id":2,"tid":9,"addr":"0x0000000000000000","seq":4,"is_active":false,"ts":5000}
	END
	weft coro export -o t.json t.jsonl
	jq -r '.traceEvents[] | select(.ph == "X") | "\(.name) \(.ts * 1000 | round) \(.dur * 1000 | round) \(.args.end)"' t.json >found
	diff -u - found <<-END
	coro 1 1000 2001 not seen
	coro 2 3001 1999 null
	END
}

@test "timelines: pid, context and names of weft's own ids" {
	id=$(((4711 << 31) + 12))
	cat >t.jsonl <<-END
	{"probe_id":$id,"tid":4712,"addr":"0x00000000004010aa","seq":2,"is_active":true,"ts":1000,"pid":4711,"station":0,"generation":2,"birth":500}
	{"probe_id":$id,"tid":4712,"addr":"0x00000000004010aa","seq":4,"is_active":false,"ts":2000,"pid":4711,"station":0,"generation":2,"birth":500,"context":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	END
	weft coro export -o t.json t.jsonl
	jq -c '.traceEvents[] | select(.ph == "X") | [.name, .pid, .tid, .args]' t.json >found
	diff -u - found <<-END
	["coro 12",4711,4712,{"coroutine":"$id","addr":"0x00000000004010aa","trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"}]
	END
	jq -c '.traceEvents[] | select(.ph == "b") | [(.ts * 1000 | round), .args.begin]' t.json >found
	diff -u - found <<-END
	[500,"birth"]
	[2000,null]
	END
	weft coro export -o t.pftrace t.jsonl
	perfetto_text <t.pftrace >t.txt
	grep -q 'pid: 4711' t.txt
	grep -q 'tid: 4712' t.txt
	grep -q 'string_value: "0af7651916cd43dd8448eb211c80319c"' t.txt
	expect_not grep -q clock_snapshot t.txt
}

@test "perfetto: --this-boot relates the clocks" {
	timelines make plain 5 100 >t.jsonl
	weft coro export --this-boot -o t.pftrace t.jsonl
	perfetto_text <t.pftrace >t.txt
	[ "$(grep -c 'clock_snapshot {' t.txt)" = 1 ]
	[ "$(sed -n 's/^ *clock_id: //p' t.txt | tr '\n' ' ')" = "1 3 6 " ]
	[ "$(grep -c 'timestamp_clock_id: 3' t.txt)" = "$(grep -c 'track_event {' t.txt)" ]
}

# What examples are for: a real program, traced live and from the file that it leaves.
@test "a shared file, left over: what is still there, and what is not" {
	[ -x "$WEFT_BUILD/examples/coro/stuck-c" ] || skip "no example"
	weft coro run --keep --shm "$PWD/shm" -o live.jsonl -- "$WEFT_BUILD/examples/coro/stuck-c"
	[ -s live.jsonl ]
	cksum shm >before
	weft coro export --to csv -o left.csv shm
	expect_status 0
	cksum shm | cmp - before
	weft coro export --to csv -o live.csv live.jsonl
	[ "$(wc -l <left.csv)" -gt 8 ]
	# each event that is left is one of those that were traced
	sed 1d left.csv | sort >left
	sed 1d live.csv | sort >live
	[ -z "$(comm -23 left live)" ]
	weft coro export --to perfetto -o left.pftrace shm
	perfetto_text <left.pftrace >left.txt
	[ "$(grep -c 'clock_snapshot {' left.txt)" = 1 ]
}

@test "an empty trace gives whole and empty outputs" {
	: >empty.jsonl
	for to in csv sqlite sql chrome perfetto; do
		weft coro export --to $to -o out.$to empty.jsonl
		expect_status 0
	done
	[ "$(cat out.csv)" = "probe_id,tid,addr,seq,is_active,ts" ]
	[ "$(sqlite3 out.sqlite 'SELECT count(*) FROM coro_trace_events')" = 0 ]
	[ "$(jq '[.traceEvents[] | select(.ph != "M")] | length' out.chrome)" = 0 ]
	perfetto_text <out.perfetto >text
	expect_not grep -q track_event text
}

@test "what is there stays, unless it was named" {
	small
	echo older >small.csv
	weft coro export --to csv small.jsonl
	expect_status 1
	[ "$err" = "weft coro export: small.csv: is there already: give -o or --replace to have it replaced" ]
	[ "$(cat small.csv)" = older ]
	ln -s elsewhere small.json
	weft coro export --to chrome small.jsonl
	expect_status 1
	[ ! -e elsewhere ]
	weft coro export --to csv --replace small.jsonl
	expect_status 0
	six | diff -u - small.csv
	echo older >small.csv
	weft coro export -o small.csv small.jsonl
	expect_status 0
	six | diff -u - small.csv
	[ "$(ls | grep -c 'small\.csv')" = 1 ]
}

@test "a trace is not replaced by what is made of it" {
	small
	cp small.jsonl before
	ln -s small.jsonl other.csv
	for to in csv jsonl sqlite; do
		weft coro export --to $to -o other.csv small.jsonl
		expect_status 2
		expect_in "$err" "other.csv: is the trace itself"
		weft coro export --to $to --replace -o small.jsonl small.jsonl
		expect_status 2
	done
	cmp small.jsonl before
}

@test "a damaged trace: exit 1, and a file has what lies before" {
	small
	sed -n 1,3p small.jsonl >bad.jsonl
	echo '{"probe_id":7,' >>bad.jsonl
	weft coro export --to csv bad.jsonl
	expect_status 1
	expect_in "$err" "weft coro export: bad.jsonl:4: "
	expect_in "$err" "exported is what lies before it"
	[ "$(wc -l <bad.csv)" = 3 ]
	weft coro export --to csv nothing.jsonl
	expect_status 1
	[ "$err" = "weft coro export: nothing.jsonl: No such file or directory" ]
	[ ! -e nothing.csv ]
	mkdir directory
	weft coro export --to csv directory
	expect_status 1
	[ "$err" = "weft coro export: directory: Is a directory" ]
	[ ! -e directory.csv ]
}

@test "a full disk is told, and leaves nothing behind" {
	timelines make plain 6 4000 >t.jsonl
	for to in csv sqlite sql chrome perfetto; do
		mkdir -p $to
		status=0
		# 16 KiB are too few for any of them
		(trap '' XFSZ && ulimit -f 16 && exec "$WEFT" coro export --to $to -o $to/out t.jsonl 2>$to/err) || status=$?
		[ "$status" = 1 ] || { echo "$to: $status"; cat $to/err; return 1; }
		expect_in "$(cat $to/err)" "weft coro export: $to/out: "
		rm $to/err
		[ -z "$(ls $to)" ] || { ls $to; return 1; }
	done
}

@test "a full device is told" {
	[ -w /dev/full ] || skip "no /dev/full"
	small
	for to in csv chrome perfetto; do
		weft coro export --to $to -o /dev/full small.jsonl
		expect_status 1
		[ "$err" = "weft coro export: /dev/full: No space left on device" ]
	done
	weft coro export --to sqlite -o /dev/full small.jsonl
	expect_status 1
	expect_in "$err" "a database needs a file"
}

# Each waits for input in the middle of a trace when the signal comes.
@test "interrupted: no half of a file, and what was there stays" {
	timelines make plain 6 4000 >t.jsonl
	mkfifo pipe
	for signal in INT TERM HUP; do
		for to in csv sqlite sql chrome perfetto; do
			rm -rf d && mkdir d && echo older >d/out
			env --default-signal="$signal" "$WEFT" coro export --to $to -o d/out - <pipe &
			local pid=$!
			exec 7>pipe
			cat t.jsonl >&7
			until [ "$(ls d | wc -l)" = 2 ]; do sleep 0.01; done
			kill -"$signal" $pid
			status=0
			wait $pid || status=$?
			exec 7>&-
			[ "$status" = $((128 + $(kill -l $signal))) ] || { echo "$to $signal: $status"; return 1; }
			[ "$(ls d)" = out ]
			[ "$(cat d/out)" = older ]
		done
	done
}

@test "coroTracer -export: a place that cannot be written is told, and what a server takes" {
	small
	ln -s "$WEFT" coroTracer
	mkdir here
	for to in csv sqlite; do
		status=0
		./coroTracer -export $to -in small.jsonl -$to-out here 2>stderr || status=$?
		[ "$status" = 1 ]
		expect_in "$(cat stderr)" "weft coroTracer: here: Is a directory"
	done
	for to in mysql postgres postgresql; do
		status=0
		./coroTracer -export $to -in small.jsonl -db-host here -db-password x 2>stderr || status=$?
		[ "$status" = 2 ]
		expect_in "$(cat stderr)" "weft coro export --to sql"
	done
}

@test "usage: what does not go together is refused" {
	small
	weft coro export small.jsonl
	expect_status 2
	expect_in "$err" "missing --to FORMAT"
	weft coro export --to spam small.jsonl
	expect_status 2
	expect_in "$err" "csv, sqlite, sql, chrome, perfetto"
	weft coro export --to csv --table here small.jsonl
	expect_status 2
	expect_in "$err" "--table: csv has no table"
	weft coro export --to sql --table "$(printf 'n%.0s' {1..50})" small.jsonl
	expect_status 1
	expect_in "$err" "at most 49 bytes"
	[ ! -e small.sql ]
	for to in postgres postgresql; do
		weft coro export --to $to small.jsonl
		expect_status 2
		expect_in "$err" "weft coro export --to sql -o - INPUT | psql"
	done
	for to in mysql mariadb; do
		weft coro export --to $to small.jsonl
		expect_status 2
		expect_in "$err" "weft coro export --to sql -o - INPUT | mariadb"
	done
}
