#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro report of traces made by hand: each number is known beforehand.

load common

MS=1000000

# ev ID TID ADDR SEQ true|false TS_MS [EXTRA]: a line of the trace
ev() {
	printf '{"probe_id":%d,"tid":%d,"addr":"0x%016x","seq":%d,"is_active":%s,"ts":%d%s}\n' \
		"$1" "$2" "$3" "$4" "$5" $((1000 * MS + $6 * MS)) "${7:+,$7}"
}

# of ID STATION: the keys of --extended
of() { echo "\"pid\":77,\"station\":$1,\"generation\":2,\"birth\":$((1000 * MS + $2 * MS))"; }

# is FILTER VALUE: what jq makes of the report
is() {
	local found
	found=$(jq -rc "$1" stdout)
	[ "$found" = "$2" ] || {
		echo "$1: '$found', expected '$2'"
		return 1
	}
}

# Waits of 1 to 100 ms at 0x2000, runs of 1 ms there; then one of 2 ms at 0x3000.
waits() {
	local at=0 seq=2 i
	for ((i = 1; i <= 100; i++)); do
		ev 5 50 0x1000 $seq true $at
		ev 5 50 0x2000 $((seq + 2)) false $((at + 1))
		at=$((at + 1 + i)) seq=$((seq + 4))
	done
	ev 5 50 0x1000 $seq true $at
	ev 5 50 0x3000 $((seq + 2)) false $((at + 2))
}

@test "percentiles of runs and waits by site are exact" {
	waits >trace
	weft coro report --json trace
	expect_status 0
	is '.by.site[] | select(.name == "0x2000") | .wait |
		[.count] + ([.total_ns, .p50_ns, .p90_ns, .p99_ns, .max_ns] | map(. / 1000000))' \
		'[100,5050,50,90,99,100]'
	is '.by.site[] | select(.name == "0x2000") | .run | [.count, .max_ns / 1000000]' '[100,1]'
	is '.by.site[] | select(.name == "0x3000") | .run | [.count, .max_ns / 1000000]' '[1,2]'
	is '.by.site[] | select(.name == "0x3000") | [.wait.count, .waiting]' '[0,1]'
	is '.by.all.wait | [.count, .p50_ns / 1000000]' '[100,50]'
	is '[.events, .lost, .gaps, .threads, .coroutines.seen]' '[202,0,0,1,1]'
	weft coro report trace
	expect_status 0
	expect_in "$out" "      100    5.050 s  50.000 ms  90.000 ms  99.000 ms 100.000 ms  0x2000"
	expect_in "$out" "none between events that are there"
}

@test "a trace in another order of slots says the same" {
	waits >trace
	# as the peer's engine writes them: the eight slots of each round from one of the middle
	awk '{ line[NR] = $0 }
		END { for (i = 1; i <= NR; i += 8) {
			for (k = 3; k < 8; k++) if (i + k <= NR) print line[i + k]
			for (k = 0; k < 3; k++) if (i + k <= NR) print line[i + k] } }' trace >mixed
	expect_not cmp -s trace mixed
	weft coro report --json trace
	jq -S 'del(.source)' stdout >one
	weft coro report --json mixed
	expect_status 0
	jq -S 'del(.source)' stdout >two
	diff one two
}

@test "what is lost is told, and makes no long run or wait" {
	{
		ev 1 50 0x1000 2 true 0
		ev 1 50 0x2000 4 false 1
		ev 1 50 0x1000 6 true 2
		# the suspension, and the next resume, are missing
		ev 1 50 0x2000 12 false 9000
		ev 1 50 0x1000 14 true 9004
	} >trace
	weft coro report --json trace
	is '[.lost, .gaps]' '[2,1]'
	is '.by.all | [.run.count, .run.max_ns / 1000000, .wait.count, .wait.max_ns / 1000000]' \
		'[1,1,2,4]'
	is '.findings.not_yielding | length' 0
	weft coro report trace
	expect_in "$out" "2 events in 1 gaps"
}

@test "who does not yield, and who goes back and forth" {
	{
		ev 1 50 0x1000 2 true 0
		ev 1 50 0x2000 4 false 150
		ev 2 51 0x1000 2 true 100
		for ((i = 0; i < 12; i++)); do
			ev 3 $((60 + i % 2)) 0x1000 $((4 * i + 2)) true $((i * 2))
			ev 3 $((60 + i % 2)) 0x3000 $((4 * i + 4)) false $((i * 2 + 1))
		done
		# always onwards is no ping-pong
		for ((i = 0; i < 12; i++)); do
			ev 4 $((70 + i)) 0x1000 $((4 * i + 2)) true $((i * 2))
			ev 4 $((70 + i)) 0x3000 $((4 * i + 4)) false $((i * 2 + 1))
		done
		ev 5 50 0x1000 2 true 400
	} >trace
	weft coro report --json trace
	expect_status 0
	is '.findings.not_yielding | map([.probe_id, .for_ns / 1000000, .is_open])' \
		'[[2,300,true],[1,150,false]]'
	is '.findings.ping_pong | map([.probe_id, .moves, .returns])' '[[3,11,10]]'
	weft coro report --json --long-run 200ms --ping-pong 11 trace
	is '[(.findings.not_yielding | length), (.findings.ping_pong | length)]' '[1,0]'
}

@test "threads: how evenly they ran" {
	{
		ev 1 50 0x1000 2 true 0
		ev 1 50 0x2000 4 false 90
		ev 2 51 0x1000 2 true 0
		ev 2 51 0x2000 4 false 10
	} >trace
	weft coro report --by thread trace
	expect_status 0
	expect_in "$out" "thread 50 ran 90.0 % of the time, 1.80 of an even share (2 threads)"
	weft coro report --json --by thread trace
	is '.by.thread | map([.tid, .run.total_ns / 1000000])' '[[50,90],[51,10]]'
	is '.by.site' null
	weft coro report --json --by coroutine trace
	is '.by.coroutine | map([.probe_id, .run.total_ns / 1000000])' '[[1,90],[2,10]]'
}

@test "by the trace id that they work for" {
	a='"context":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"'
	{
		ev 1 50 0x1000 2 true 0 "$(of 0 0),$a"
		ev 1 50 0x2000 4 false 5 "$(of 0 0),$a"
		ev 2 50 0x1000 2 true 6 "$(of 1 6)"
		ev 2 50 0x2000 4 false 7 "$(of 1 6)"
	} >trace
	weft coro report --json --by label:trace-id trace
	expect_status 0
	is '.by.label | map([.value, .run.total_ns / 1000000])' \
		'[["0af7651916cd43dd8448eb211c80319c",5],[null,1]]'
	weft coro report --by label:span-id trace
	expect_in "$out" "b7ad6b7169203331"
	weft coro report --by label: trace
	expect_status 2
}

# grow STEP: 40 coroutines, one each 10 ms; each STEP-th ends at once, the others never
grow() {
	awk -v step="$1" 'BEGIN { for (i = 0; i < 40; i++) for (k = 0; k < 2; k++)
		printf "{\"probe_id\":%d,\"tid\":50,\"addr\":\"0x%016x\",\"seq\":%d,\"is_active\":%s," \
			"\"ts\":%.0f,\"pid\":77,\"station\":%d,\"generation\":2,\"birth\":%.0f%s}\n",
			i, 4096 + 4096 * k, 2 + 2 * k, k ? "false" : "true", 1e9 + i * 1e7 + k * 1e6,
			i, 1e9 + i * 1e7, k && i % step == 0 ? ",\"dead\":true" : "" }'
}

@test "growth is judged by the least in each fifth, and only where deaths are told" {
	grow 10 >trace
	weft coro report --json trace
	expect_status 0
	is '.growth | [.is_judged, .is_growing, .least_live, .seen, .ended]' \
		'[true,true,[7,14,21,28],40,4]'
	weft coro report trace
	expect_in "$out" "a trace does not tell): at least 7, 14, 21, 28 live in the fifths"
	grow 1 >trace
	weft coro report --json trace
	is '.growth | [.is_judged, .is_growing, .ended]' '[true,false,40]'
	waits >trace
	weft coro report --json trace
	is '.growth.is_judged' false
	weft coro report trace
	expect_in "$out" "not judged (no death is told in this trace"
}

# served LEAKED: 2 minutes of a server that begins 30 coroutines a second, of about a second each, and
# LEAKED a second that never end
served() {
	/usr/bin/python3 - "$1" <<-'EOF'
		import random, sys
		leaked, S, events = int(sys.argv[1]), 10**9, []
		random.seed(7)
		def one(begin, lasts):
		    steps = [(0, 1), (1000, 0)] + ([(lasts, 1), (lasts + 1000, 0)] if lasts else [])
		    who = one.count = getattr(one, "count", 0) + 1
		    for i, (at, active) in enumerate(steps):
		        events.append((begin + at, who, 2 * i + 2, active, begin, i == 3))
		at = S
		while at < 121 * S:
		    one(at, 2000 + int(random.expovariate(1) * S))
		    at += int(random.expovariate(30) * S)
		for i in range(120 * leaked):
		    one(S + i * S // leaked, 0)
		for ts, who, seq, active, birth, dead in sorted(events):
		    if ts < 121 * S:
		        print('{"probe_id":%d,"tid":5,"addr":"0x%016x","seq":%d,"is_active":%s,"ts":%d,'
		              '"pid":77,"station":%d,"generation":2,"birth":%d%s}' %
		              (who, 0x2000, seq, ["false", "true"][active], ts, who, birth,
		               ',"dead":true' if dead else ""))
	EOF
}

@test "a steady server is not accused, one that leaks a coroutine a second is" {
	served 0 >trace
	weft coro report --json trace
	is '.growth | [.is_judged, .is_growing]' '[true,false]'
	served 1 >trace
	weft coro report --json trace
	is '.growth | [.is_judged, .is_growing]' '[true,true]'
}

@test "growth is not judged where the next on its station is all that tells of an end" {
	grow 50 | awk '{ sub(/"station":[0-9]+/, "\"station\":" int((NR - 1) / 4)); print }' >trace
	weft coro report --json trace
	expect_status 0
	is '.growth.is_judged' false
	expect_in "$(jq -r .growth.why_not stdout)" "destroyed while suspended"
	is '.coroutines.ended' 20
}

@test "by a label that a trace cannot tell is refused, not shown as none" {
	waits >trace
	weft coro report --by label:tenant trace
	expect_status 1
	expect_in "$err" "trace: a trace tells label:trace-id and label:span-id alone"
	weft coro report --by label:tenant not-there
	expect_status 1
	expect_in "$err" "not-there: No such file"
}

# One that hangs at 0x4000; others that wait elsewhere, end, run, or were there shortly before.
hangs() {
	ev 1 50 0x1000 2 true 0 "$(of 0 0)"
	ev 1 50 0x4000 4 false 1 "$(of 0 0)"
	ev 2 51 0x1000 2 true 0 "$(of 1 0)"
	ev 2 51 0 4 false 1 "$(of 1 0),\"dead\":true"
	ev 3 52 0x1000 2 true 0 "$(of 2 0)"
	ev 4 53 0x1000 2 true 0 "$(of 3 0)"
	ev 4 53 0x4000 4 false 2 "$(of 3 0)"
	ev 4 53 0x1000 6 true 7 "$(of 3 0)"
	ev 4 53 0x2000 8 false 5990 "$(of 3 0)"
	ev 5 54 0x1000 2 true 6000 "$(of 4 6000)"
}

@test "--stuck lists who is suspended too long, and nobody else" {
	hangs >trace
	weft coro report --json --stuck 1s trace
	expect_status 0
	is '.findings.stuck | map([.probe_id, .confidence, .pid, .station, .tid, .resumes])' \
		'[[1,"medium",77,0,50,1]]'
	is '.findings.stuck[0] | [.for_ns / 1000000, .where.name]' '[5999,"0x4000"]'
	is '.findings.woken | length' 0
	weft coro report --stuck 1s trace
	expect_in "$out" "1 suspended longer than 1.000 s, not resumed and not woken since"
	expect_in "$out" "medium    coroutine 1 of process 77: for 5.999 s at 0x4000"
	expect_in "$out" "waits at this place have ended sooner"
	weft coro report --json --stuck 6s trace
	is '.findings.stuck | length' 0
	weft coro report --stuck 0 trace
	expect_status 2
}

@test "--stuck says what speaks against it" {
	{
		hangs
		# others wait as long at the same place and go on, or end there
		ev 6 55 0x1000 2 true 0 "$(of 5 0)"
		ev 6 55 0x4000 4 false 1 "$(of 5 0)"
		ev 6 55 0x1000 6 true 6001 "$(of 5 0)"
		ev 7 55 0x1000 2 true 0 "$(of 6 0)"
		ev 7 55 0x4000 4 false 1 "$(of 6 0),\"dead\":true"
	} >trace
	weft coro report --json --stuck 1s trace
	is '.findings.stuck | map([.probe_id, .confidence])' '[[1,"low"]]'
	is '.findings.stuck[0].because | map(select(startswith("others"))) | length' 1
	# destroyed while it was suspended, as another's line tells
	ev 8 55 0x1000 2 true 6002 "$(of 7 0),\"died\":[[77,9,2],[77,0,2]]" >>trace
	weft coro report --json --stuck 1s trace
	is '.findings.stuck' '[]'
	is '[.coroutines.seen, .coroutines.ended]' '[8,3]'
	# without deaths in the trace nothing is sure
	hangs | sed 's/,"pid.*}/}/' >plain
	weft coro report --json --stuck 1s plain
	is '.findings.stuck | map(.confidence) | unique' '["low"]'
	expect_in "$(jq -c '.findings.stuck[].because' stdout)" "the trace tells no deaths"
}

@test "a trace of many coroutines is listed as far as --top says" {
	for ((i = 0; i < 60; i++)); do
		ev $i 50 0x1000 2 true 0
		ev $i 50 $((0x2000 + i)) 4 false $((i + 1))
	done >trace
	weft coro report --by site trace
	[ "$(grep -c '  0x20' stdout)" = 40 ]
	expect_in "$out" "... and 20 more (--top 0)"
	weft coro report --by site --top 0 trace
	[ "$(grep -c '  0x20' stdout)" = 60 ]
	weft coro report --json --by site --top 1 trace
	is '.by.site | length' 60
}

@test "what is no trace is refused, with the line" {
	waits >trace
	echo '{"probe_id":1}' >>trace
	weft coro report trace
	expect_status 1
	expect_in "$err" "trace: line 203:"
	: >empty
	weft coro report empty
	expect_status 1
	expect_in "$err" "empty: no events"
	weft coro report not-there
	expect_status 1
	expect_in "$err" "not-there: No such file"
	printf 'RCRTOROC' >short
	weft coro report short
	expect_status 1
}

@test "of a recording: runs and waits as the program did them, places named" {
	[ -z "${WEFT_SANITIZED-}" ] || skip "a sanitized program is not recorded here"
	"$WEFT" record -o file.jfr -- "$WEFT_CORO_LOST" end 2>record.err
	weft coro report --json file.jfr
	expect_status 0
	is '[.kind, .coroutines.seen, .coroutines.running, .lost, .gaps]' '["recording",24,1,0,0]'
	is '.by.all | [.run.count, .wait.count]' '[70,71]'
	is '.by.site[] | select(.name == "wait_for_work") | [.run.count, .wait.count, .waiting]' \
		'[60,40,20]'
	weft coro report --json --by label:trace-id file.jfr
	is '.by.label | map([.value, .run.count])' '[[null,70]]'
	"$MAKE_RECORDING" other.jfr || skip "no recording without coroutines"
	weft coro report other.jfr
	expect_status 1
	expect_in "$err" "no events of coroutines"
}
