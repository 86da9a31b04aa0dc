#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro ps, and weft coro report of a shared file: a program with a wakeup that is lost.

load common
load carry

# A shared file, and the program that writes to it.
lose() {
	/usr/bin/python3 "$WEFT_SOURCE/tests/cli/coro_file.py" file 64
	start program env CTP_SHM_PATH="$PWD/file" "$WEFT_CORO_LOST"
}

is() {
	local found
	found=$(jq -rc "$1" stdout)
	[ "$found" = "$2" ] || {
		echo "$1: '$found', expected '$2'"
		return 1
	}
}

# lasts FILTER: the coroutine of the filter has been what it is for 200 ms
lasts() {
	weft coro ps --json file
	[ "$(jq "[.coroutines[] | select($1)][0].for_ns > 200000000" stdout)" = true ]
}

@test "every coroutine with its state, place and process" {
	lose
	weft coro ps --json file
	expect_status 0
	is '.is_live' true
	is '.counts' '{"created":1,"running":1,"suspended":1,"ready":21,"dead":1,"refused":0}'
	is '.coroutines | length' 24
	is '.coroutines[] | select(.probe_id == 7) | [.state, .where.name, .created_at.name, .pid,
		.resumes, .wakes]' '["suspended","wait_for_reply","wait_for_turn",'"$pid"',4,4]'
	is '.coroutines[] | select(.probe_id == 9) | [.state, .where, .resumes]' '["created",null,0]'
	is '.coroutines[] | select(.probe_id == 10) | [.state, .where.name]' \
		'["running","spin_for_ever"]'
	is '[.coroutines[] | select(.state == "ready") | .where.name] | unique' \
		'["wait_for_turn","wait_for_work"]'
	is '[.coroutines[] | select(.probe_id == 11)] | length' 0
	weft coro ps --json --all file
	is '.coroutines[] | select(.probe_id == 11) | .state' dead
	weft coro ps file
	expect_status 0
	expect_in "$out" "24 of 25: 1 running, 1 suspended, 21 ready, 1 created, 1 dead; 0 refused"
}

@test "found by the pid of a program that writes to it" {
	lose
	weft coro ps --json "$pid"
	expect_status 0
	is .source "$PWD/file"
	start none sh -c 'echo ready; sleep 60'
	weft coro ps "$pid"
	expect_status 1
	expect_in "$err" "a process that writes no coroutines"
}

@test "only what is stuck, and in the order that is asked for" {
	lose
	until_true lasts '.probe_id == 7'
	weft coro ps --json --stuck 100ms file
	is '.coroutines | map(.probe_id)' '[7]'
	weft coro ps --json --stuck 1h file
	is '.coroutines' '[]'
	weft coro ps --json --sort id file
	is '.coroutines | map(.probe_id) == (map(.probe_id) | sort)' true
	is '.coroutines[0].probe_id' 7
	weft coro ps --json --sort switches file
	is '.coroutines[0].probe_id' 7
	weft coro ps --json --sort for file
	is '.coroutines | map(.since_ns) == (map(.since_ns) | sort)' true
}

@test "a lost wakeup is found in the file of a program that lives, and in what it leaves" {
	lose
	until_true lasts '.probe_id == 10'
	weft coro report --json --stuck 100ms file
	expect_status 0
	is '.findings.stuck | map([.probe_id, .confidence, .where.name, .created_at.name])' \
		'[[7,"high","wait_for_reply","wait_for_turn"]]'
	expect_in "$(jq -c '.findings.stuck[0].because' stdout)" "came while it still ran"
	is '.findings.woken | length' 21
	is '.findings.never_resumed | map(.probe_id)' '[9]'
	is '.findings.not_yielding | map([.probe_id, .is_open, .where.name])' \
		'[[10,true,"spin_for_ever"]]'
	is '.by.site[] | select(.name == "wait_for_work") | [.run.count, .wait.count, .waiting]' \
		'[60,40,20]'
	is '.by.all | [.run.count, .wait.count]' '[70,71]'
	weft coro report --stuck 100ms "$pid"
	expect_in "$out" "high      coroutine 7 of process $pid"
	kill -KILL "$pid"
	until_true is_gone "$pid"
	weft coro ps --json file
	is '[.is_live, (.coroutines | length)]' '[false,24]'
	weft coro report --json --by coroutine file
	expect_status 0
	is '.kind' "left-over shared file"
	is '.by.coroutine[] | select(.probe_id == 7) | [.run.count, .wait.count]' '[4,4]'
}

@test "many coroutines are listed without memory for them" {
	/usr/bin/python3 - <<-'EOF'
		import struct
		count = 100000
		with open("many", "wb") as out:
		    head = struct.pack("<QIIIIIIQii", 0x434F524F54524352, 1, count, count, 0,
		                       0x31585443, 3, 1, 0, 1)
		    out.write(head.ljust(1024, b"\0"))
		    for i in range(count):
		        # suspended at 0x2000 since i, dialect M, generation 2
		        head = struct.pack("<QQBBBBIIIIIQQQ", i + 1, 1, 0, 1, 1, 3, 2, 5, 0, 0, 0, 0, 0, 0)
		        slot = struct.pack("<QQQQ", 1000 + i, 9, 0x2000, 2).ljust(60, b"\0") + bytes([2, 0, 0, 0])
		        out.write((head.ljust(64, b"\0") + slot).ljust(1024, b"\0"))
	EOF
	status=0
	(ulimit -v 400000; "$WEFT" coro ps --json many >stdout) || status=$?
	expect_status 0
	is '[(.coroutines | length), .counts.suspended] +
		(.coroutines[99999] | [.probe_id, .state, .since_ns, .where.name])' \
		'[100000,100000,100000,"suspended",100999,"0x2000"]'
}

@test "numbers of 32 bits stay what they are" {
	/usr/bin/python3 - <<-'EOF'
		import struct
		with open("big", "wb") as out:
		    head = struct.pack("<QIIIIIIQii", 0x434F524F54524352, 1, 1, 1, 0, 0x31585443, 3, 1, 0, 1)
		    out.write(head.ljust(1024, b"\0"))
		    head = struct.pack("<QQBBBBII", 2**64 - 1, 1, 0, 1, 1, 3, 2**32 - 2, 2**32 - 3)
		    slot = struct.pack("<QQQQ", 1000, 2**32 - 4, 0x2000, 2).ljust(60, b"\0") + bytes([2, 0, 0, 0])
		    out.write((head.ljust(64, b"\0") + slot).ljust(1024, b"\0"))
	EOF
	weft coro ps --json big
	is '.coroutines[0] | [.generation, .pid, .tid, .state]' \
		'[4294967294,4294967293,4294967292,"suspended"]'
	weft coro top --json big
	is '.coroutines[0] | [.pid, .tid, .where]' '[4294967293,4294967292,"0x2000"]'
}

@test "several engines: told which, and none is guessed" {
	lose
	/usr/bin/python3 "$WEFT_SOURCE/tests/cli/coro_file.py" other 64
	start second env CTP_SHM_PATH="$PWD/other" "$WEFT_CORO_LOST"
	weft coro ps
	expect_status 2
	expect_in "$err" "several shared files are in use"
	expect_in "$err" "name one, or a pid"
	weft coro ps "$pid"
	expect_status 0
}

@test "what is no shared file is refused; one that is cut short is no crash" {
	echo nothing >text
	weft coro ps text
	expect_status 1
	expect_in "$err" "weft coro ps: text: "
	weft coro ps not-there
	expect_status 1
	weft coro ps 4000000000
	expect_status 1
	expect_in "$err" "4000000000: no such process"
	weft coro ps a b
	expect_status 2
	/usr/bin/python3 "$WEFT_SOURCE/tests/cli/coro_file.py" cut 64
	truncate -s 2000 cut
	weft coro ps cut
	[ "$status" -le 1 ]
	weft coro ps --stuck 0 cut
	expect_status 2
}
