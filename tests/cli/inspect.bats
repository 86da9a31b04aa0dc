#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft inspect: the contexts of a process, and why one cannot be looked at.

load common
load carry

# of TID ABI MEMBER: what the JSON says of a context
of() { jq -r --argjson tid "$1" ".threads[] | select(.tid == \$tid) | .contexts[] | select(.abi == \"$2\") | .$3" stdout; }

# says TID ABI MEMBER VALUE
says() {
	[ "$(of "$1" "$2" "$3")" = "$4" ] || {
		echo "$3 of $1, $2: '$(of "$1" "$2" "$3")', expected '$4'"
		cat stdout
		return 1
	}
}

@test "weft's contexts of a program that was linked with it, without stopping anything" {
	for program in "$WEFT_CARRY_SO" "$WEFT_CARRY_A"; do
		start one "$program" rest 2
		until_true two_have_context "$pid"
		says "$pid" weft span_id 1122334455667788
		says "$pid" weft root_span_id 1122334455667789
		says "$pid" weft trace_id null
		says "$pid" weft torn null
		[ "$(jq -r .pid stdout)" = "$pid" ]
		[ "$(jq -r .process.stopped stdout)" = false ]
		kill -KILL "$pid"
	done
}

two_have_context() {
	weft inspect --json "$1"
	expect_status 0
	[ "$(jq '[.threads[] | select(.contexts != [])] | length' stdout)" = 3 ]
}

@test "a table for people" {
	start one "$WEFT_CARRY_SO" rest
	weft inspect "$pid"
	expect_status 0
	expect_in "$out" "$pid carry-so: $WEFT_CARRY_SO rest"
	expect_in "$out" "weft 0.1.0: publishes"
	expect_in "$out" "1122334455667788 1122334455667789"
}

@test "a process without any context is no error" {
	start one "$WEFT_CARRY" rest
	weft inspect "$pid"
	expect_status 0
	expect_in "$out" "publishes no contexts"
	weft inspect --json "$pid"
	expect_status 0
	[ "$(jq -r '.process.weft, .process.otel_thread, .process.custom_labels' stdout | sort -u)" = null ]
	[ "$(jq '[.threads[].contexts[]] | length' stdout)" = 0 ]
	[ "$(jq '.threads | length' stdout)" = 2 ]
}

@test "threads and formats can be chosen" {
	start one "$WEFT_CARRY_SO" rest
	weft inspect --json --thread 'no*' "$pid"
	[ "$(jq '.threads | length' stdout)" = 0 ]
	weft inspect --json --thread "$pid" "$pid"
	[ "$(jq '.threads | length' stdout)" = 1 ]
	weft inspect --json -t 'carry*' --abi otel,custom-labels "$pid"
	[ "$(jq '.threads | length' stdout)" = 2 ]
	[ "$(jq '[.threads[].contexts[]] | length' stdout)" = 0 ]
	weft inspect --abi nonsense "$pid"
	expect_status 2
}

@test "a process that never was, a thread, words that are none" {
	weft inspect 4194305
	expect_status 1
	expect_in "$err" "4194305: no such process"
	start one "$WEFT_CARRY_SO" rest
	tid=$(ls "/proc/$pid/task" | grep -v "^$pid\$" | head -n 1)
	weft inspect "$tid"
	expect_status 1
	expect_in "$err" "is a thread; name its process: $pid"
	for word in abc 0 -1 12x ''; do
		weft inspect -- "$word"
		expect_status 2
	done
	weft inspect
	expect_status 2
	weft inspect --watch --interval 0 $$
	expect_status 2
}

@test "a zombie" {
	python3 - >zombie 3>&- <<-'PYTHON' &
		import os, sys, time
		child = os.fork()
		if child == 0:
		    os._exit(0)
		os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
		print("ready", child, flush=True)
		time.sleep(600)
	PYTHON
	CARRIED+=($!)
	until_true grep -q ready zombie
	weft inspect "$(awk '{ print $2 }' zombie)"
	expect_status 1
	expect_in "$err" zombie
}

@test "a thread of the kernel" {
	[ "$(cat /proc/2/comm)" = kthreadd ] || skip "none is to be seen"
	weft inspect 2
	expect_status 1
	expect_in "$err" "thread of the kernel"
}

@test "another user's process" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	command -v setpriv >/dev/null || skip "no setpriv"
	start one "$WEFT_CARRY_SO" rest
	chmod 755 "$BATS_TEST_TMPDIR"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFT" --version >/dev/null 2>&1 ||
		skip "the command cannot be run by others"
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFT" inspect "$pid" >other 2>&1 ||
		status=$?
	out=$(cat other) err=
	expect_status 1
	expect_in "$out" "may not be read: it is another user's"
}

@test "a process that ends while it is watched" {
	start one "$WEFT_CARRY_SO" rest
	"$WEFT" inspect --watch --interval 10ms --json "$pid" >watched 2>watched.err 3>&- &
	watcher=$!
	CARRIED+=("$watcher")
	until_true test -s watched
	kill -KILL "$pid"
	status=0
	wait "$watcher" || status=$?
	out=$(tail -n 1 watched) err=$(cat watched.err)
	expect_status 1
	expect_in "$err" "it has ended"
	jq -s -e 'length >= 1 and all(.pid > 0)' watched >/dev/null
}

@test "watching in a pipe: blocks, or a line of JSON each; SIGINT ends it well" {
	start one "$WEFT_CARRY_SO" rest
	env --default-signal=INT "$WEFT" inspect --watch --interval 10ms "$pid" >watched 2>watched.err 3>&- &
	watcher=$!
	CARRIED+=("$watcher")
	until_true has_blocks 3
	kill -INT "$watcher"
	status=0
	wait "$watcher" || status=$?
	out=$(cat watched) err=$(cat watched.err)
	expect_status 0
	[ -z "$err" ]
	expect_not grep -q $'\033' watched
	"$WEFT" inspect --watch --interval 10ms --json "$pid" >watched 2>watched.err 3>&- &
	watcher=$!
	CARRIED+=("$watcher")
	until_true has_lines 3
	kill -TERM "$watcher"
	status=0
	wait "$watcher" || status=$?
	expect_status 0
	[ "$(jq -s 'map(.pid) | unique | length' watched)" = 1 ]
}

has_blocks() { [ "$(grep -c 'TID NAME' watched)" -ge "$1" ] && grep -q '^$' watched; }
has_lines() { [ "$(wc -l <watched)" -ge "$1" ]; }

@test "nothing is stopped without --stop, and everything goes on after it" {
	command -v strace >/dev/null || skip "no strace"
	start one "$WEFT_CARRY_SO" rest 3
	strace -f -o calls "$WEFT" inspect "$pid" >/dev/null 2>&1 || skip "no ptrace here"
	expect_not grep -E 'ptrace|kill|tgkill|pidfd_send_signal|sigqueue' calls
	expect_in "$(ask one "$pid")" "context=ok"
	weft inspect --stop --json "$pid"
	expect_status 0
	[ "$(jq -r .process.stopped stdout)" = true ]
	says "$pid" weft span_id 1122334455667788
	[ "$(jq '[.threads[] | select(.trouble)] | length' stdout)" = 0 ]
	for task in /proc/"$pid"/task/*; do
		grep -q '^TracerPid:.0' "$task/status"
		expect_not grep -q '^State:.[tT]' "$task/status"
	done
	expect_in "$(ask one "$pid")" "context=ok"
}

@test "another program where the process was: an exec while it is watched" {
	start one "$WEFT_CARRY_SO" exec
	"$WEFT" inspect --watch --interval 10ms --json "$pid" >watched 2>watched.err 3>&- &
	watcher=$!
	CARRIED+=("$watcher")
	until_true grep -q '"version"' watched
	kill -USR1 "$pid"
	until_true told_as_bare
	[ "$(tail -n 1 watched | jq -r .process.name)" = "$(cat "/proc/$pid/comm")" ]
	kill -TERM "$watcher"
	status=0
	wait "$watcher" || status=$?
	expect_status 0
}

# the newest line says that nothing is published there
told_as_bare() { tail -n 1 watched | grep -q '"weft":null.*}$'; }

@test "a name of odd bytes is whole, and no command to the terminal" {
	start one python3 -u -c 'import ctypes, time
ctypes.CDLL(None).prctl(15, b"a\n\x1b[31m\x9b\xc3", 0, 0, 0)
print("ready", flush=True)
time.sleep(600)'
	weft inspect "$pid"
	expect_status 0
	expect_in "$out" "$pid a\x0a\x1b[31m\x9b\xc3: "
	expect_in "$out" "$pid a\x0a\x1b[31m\x9b\xc3 -"
	expect_not grep -q $'[\x1b\x9b]' stdout
	weft inspect --json "$pid"
	[ "$(jq -c '.process.name, .threads[0].name' stdout | sort -u)" = '"a\n\u001b[31m\u009bÃ"' ] ||
		[ "$(jq -c '.process.name == .threads[0].name and (.process.name | explode) == [97,10,27,91,51,49,109,155,195]' stdout)" = true ]
}

@test "watching on a narrow terminal: no line is wrapped; on a dumb one: blocks" {
	command -v script >/dev/null || skip "no script"
	start one "$WEFT_CARRY_SO" rest
	TERM=xterm timeout 60 script -qc "stty cols 40 rows 10; timeout 1 $WEFT inspect --watch --interval 10ms $pid" \
		typed >/dev/null </dev/null || true
	grep -q $'\033\\[K' typed
	sed '1d;$d;s/\x1b\[[0-9;]*[A-Za-z]//g;s/\r//g' typed >plain
	grep -q 'TID NAME' plain
	expect_not grep -E '.{41}' plain
	TERM=dumb timeout 60 script -qc "timeout 1 $WEFT inspect --watch --interval 10ms $pid" \
		typed >/dev/null </dev/null || true
	grep -q 'TID NAME' typed
	expect_not grep -q $'\033' typed
}
