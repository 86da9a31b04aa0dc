#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft record --pid: programs that carry weft are recorded while they run, and left as they were.

load common
load carry

SPAN=1122334455667788

preloaded() { start "$1" env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" "${@:2}"; }

# record NAME ARG...: a weft in the background; recorder is set when it has begun to write.
record() {
	local name=$1
	shift
	"$WEFT" record -o "$name.jfr" "$@" >"$name.out" 2>"$name.err" </dev/null 3>&- &
	recorder=$!
	CARRIED+=("$recorder")
}

# A part of the file with samples is whole: then the engines run.
has_samples() {
	[ -s "$1.jfr" ] && [ "$(samples_of "$1.jfr")" -gt 0 ]
}

samples_of() { "$WEFT" report --json "$1" 2>/dev/null | jq '.samples // 0'; }

finish() {
	kill -INT "$1"
	status=0
	wait "$1" || status=$?
}

state_of() { "$WEFT" ps --json 2>/dev/null | jq -r --argjson pid "$1" '.programs[] | select(.pid == $pid) | .state'; }
is_in_state() { [ "$(state_of "$1")" = "$2" ]; }

# As it was: what the program itself says must be equal.
expect_unharmed() {
	[ "$1" = "$2" ] || {
		echo "before: $1"
		echo "after:  $2"
		return 1
	}
}

is_as_before() { [ "$(ask "$1" "$2")" = "$3" ]; }

@test "a preloaded program is recorded, and left as it was" {
	preloaded one burn 2
	before=$(ask one "$pid")
	expect_in "$before" "timers=0 sigprof=default"
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	# while it lasts, there are timers and a handler
	expect_in "$(ask one "$pid")" "sigprof=other"
	is_in_state "$pid" recorded
	finish "$recorder"
	expect_status 0
	expect_in "$(cat file.err)" "samples"
	expect_in "$(cat file.err)" "1 process: file.jfr"
	expect_unharmed "$before" "$(ask one "$pid")"
	is_in_state "$pid" idle
	[ "$("$WEFT" report --json file.jfr | jq -r '.rows[0].key')" = work ]
}

@test "a linked program: samples have its context, during and after" {
	start one "$WEFT_CARRY_SO" burn 2
	before=$(ask one "$pid")
	expect_in "$before" "context=ok"
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	finish "$recorder"
	expect_unharmed "$before" "$(ask one "$pid")"
	[ "$("$WEFT" report --json --by span file.jfr | jq -r '.rows[0].key')" = $SPAN ]
}

@test "a program that loaded weft by dlopen" {
	start one env CARRY_LIBRARY="$WEFT_SO" "$WEFT_CARRY" burn 2
	before=$(ask one "$pid")
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	finish "$recorder"
	expect_status 0
	expect_unharmed "$before" "$(ask one "$pid")"
}

@test "many times in a row" {
	start one "$WEFT_CARRY_SO" burn 3
	before=$(ask one "$pid")
	for i in $(seq "${WEFT_CYCLES:-5}"); do
		record "file$i" -p "$pid" --chunk-time 20ms
		until_true has_samples "file$i"
		finish "$recorder"
		expect_status 0
		books=$("$WEFT" report --json "file$i.jfr" | jq -c '.books')
		[ "$(jq -r '.balanced' <<<"$books")" = true ] || { echo "$i: $books"; return 1; }
	done
	expect_unharmed "$before" "$(ask one "$pid")"
	[ "$("$WEFT" report --json --by span "file$i.jfr" | jq -r '.rows[0].key')" = $SPAN ]
}

@test "one weft at a time: the second names the first" {
	preloaded one burn
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	weft record -o other.jfr -p "$pid"
	expect_status 1
	expect_in "$err" "weft record: process $pid: is recorded already, by weft with pid $recorder"
	[ ! -e other.jfr ]
	finish "$recorder"
	expect_status 0
}

@test "weft is killed: the next one takes over at once" {
	preloaded one burn 2
	before=$(ask one "$pid")
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	kill -KILL "$recorder"
	wait "$recorder" || true
	is_in_state "$pid" left
	record next -p "$pid" --chunk-time 50ms
	until_true has_samples next
	finish "$recorder"
	expect_status 0
	expect_unharmed "$before" "$(ask one "$pid")"
}

@test "weft is killed, and nobody comes: the program stops sampling by itself" {
	preloaded one burn 2
	before=$(ask one "$pid")
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	kill -KILL "$recorder"
	wait "$recorder" || true
	until_true is_as_before one "$pid" "$before"
	is_in_state "$pid" idle
	record next -p "$pid" --chunk-time 50ms
	until_true has_samples next
	finish "$recorder"
	expect_status 0
}

@test "children that it forks join; with --no-children they do not" {
	preloaded one burn
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	kill -USR2 "$pid"
	until_true grep -q ^child= one
	child=$(sed -n 's/^child=//p' one)
	CARRIED+=("$child")
	until_true is_in_state "$child" recorded
	finish "$recorder"
	expect_in "$(cat file.err)" "2 processes"
	record alone -p "$pid" --no-children --chunk-time 50ms
	until_true has_samples alone
	kill -USR2 "$pid"
	finish "$recorder"
	expect_in "$(cat alone.err)" "1 process"
}

@test "several programs, one recording, until the last has ended" {
	preloaded one burn
	first=$pid
	preloaded two burn
	record file -p "$first" -p "$pid" -p "$first" --chunk-time 50ms
	until_true has_samples file
	until_true is_in_state "$first" recorded
	until_true is_in_state "$pid" recorded
	kill -TERM "$first"
	until_true is_gone "$first"
	is_in_state "$pid" recorded
	kill -TERM "$pid"
	status=0
	wait "$recorder" || status=$?
	expect_status 0
	expect_in "$(cat file.err)" "2 processes"
}

@test "--duration; the program runs on" {
	preloaded one burn
	before=$(ask one "$pid")
	weft record -o file.jfr -p "$pid" --duration 300ms
	expect_status 0
	until_true is_as_before one "$pid" "$before"
}

@test "a program that sleeps is not woken, and that nothing ran is said" {
	preloaded one rest 6
	record file -p "$pid"
	until_true grep -q "has not run yet" file.err
	finish "$recorder"
	expect_status 0
	expect_in "$(cat file.err)" "1 of the processes did not run at all, or never for long, or blocked SIGURG"
	# sigwaitinfo of the asking itself is no interruption
	expect_in "$(ask one "$pid")" "interrupted=0"
}

@test "a program that blocks SIGURG takes no order: that is said, and nothing else" {
	env --block-signal=URG true 2>/dev/null || skip "env cannot block a signal"
	start one env --block-signal=URG LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" burn
	before=$(ask one "$pid")
	weft record -o file.jfr -p "$pid" --duration 1s
	expect_status 0
	expect_in "$err" "or blocked SIGURG: no CPU sample of it is in the recording"
	expect_not grep -q "could not be sampled" <<<"$err"
	expect_unharmed "$before" "$(ask one "$pid")"
}

@test "the wall engine needs nobody in the program: libweft.a, asleep" {
	start one "$WEFT_CARRY_A" rest 2
	before=$(ask one "$pid")
	record file -e wall -p "$pid" --chunk-time 50ms
	until_true has_samples file
	finish "$recorder"
	expect_status 0
	grep -E '[1-9][0-9]* threads?,' file.err
	expect_unharmed "$before" "$(ask one "$pid")"
}

# Who is begun while it is recorded is recorded, however it is begun; and nobody is told of the
# recording before and after.
begins() {
	start "$1" env LD_PRELOAD="$WEFT_SO" "$WEFT_BEGIN" "$1" "env | grep ^WEFT_SOCKET; $WEFT_BURN 100"
	kill -USR1 "$pid"
	until_true grep -q done "$1"
	record "$1" -p "$pid" --chunk-time 50ms
	until_true has_samples "$1"
	kill -USR1 "$pid"
	until_true has_done "$1" 2
	finish "$recorder"
	expect_status 0
	kill -USR1 "$pid"
	until_true has_done "$1" 3
	kill -TERM "$pid"
	expect_not grep -q "unrecorded\|not recorded" "$1.err"
	expect_in " $(processes_of "$1.jfr") " " burn "
	grep -c "^WEFT_SOCKET=/." "$1" | grep -qx 1
	[ "$(grep "^WEFT_SOCKET" "$1" | sed -n '1p;3p')" = $'WEFT_SOCKET=\nWEFT_SOCKET=' ]
}

processes_of() { "$WEFT" report --json "$1" | jq -r '[.processes[].process | sub(" .*"; "")] | join(" ")'; }
has_done() { [ "$(grep -c done "$1")" = "$2" ]; }

@test "programs that it begins: vfork and exec" { begins vfork; }
@test "programs that it begins: fork and exec with an environment of its own" { begins fork; }
@test "programs that it begins: posix_spawn" { begins spawn; }
@test "programs that it begins: system" { begins system; }
@test "programs that it begins: popen" { begins popen; }

@test "children that ran already are not recorded, which is told; unless they are named" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_BEGIN" spawn "exec $WEFT_BURN wait"
	kill -USR1 "$pid"
	until_true eval 'child=$(pgrep -P "$pid" burn)'
	CARRIED+=("$child")
	until_true is_in_state "$child" idle
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	finish "$recorder"
	expect_status 0
	expect_in "$(cat file.err)" "1 program ran unrecorded: burn [$child] (began before the recording)"
	record both -p "$pid" -p "$child" --chunk-time 50ms
	until_true has_samples both
	finish "$recorder"
	expect_status 0
	expect_not grep -q "unrecorded" both.err
}

# Nothing of it runs for long enough to be sent the order: before it begins something it looks itself.
sleeper_begins() {
	start "$1" env LD_PRELOAD="$WEFT_SO" "$WEFT_BEGIN" "$1" "$WEFT_BURN 100"
	kill -USR2 "$pid"
	until_true sleeps "$pid"
	record "$1" -p "$pid" --chunk-time 50ms
	until_true is_in_state "$pid" recorded
	kill -USR1 "$pid"
	until_true has_said "$1" "done\|failed"
	finish "$recorder"
	grep -q done "$1"
	expect_in " $(processes_of "$1.jfr") " " burn "
	"$WEFT" report --json --by process "$1.jfr" | jq -e '[.rows[] | select(.key | startswith("burn"))] | length == 1'
}

@test "what sleeps when it is attached to: vfork and exec" { sleeper_begins vfork; }
@test "what sleeps when it is attached to: fork" { sleeper_begins fork; }
@test "what sleeps when it is attached to: posix_spawn" { sleeper_begins spawn; }
@test "what sleeps when it is attached to: system" { sleeper_begins system; }

# That nobody has taken the order yet is no reason for a timer whose signal nobody handles.
@test "attached to a second time, and before that begins, it forks: the child lives" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_BEGIN" quick "$WEFT_BURN 100"
	record first -p "$pid" --chunk-time 50ms
	until_true has_samples first
	finish "$recorder"
	kill -USR2 "$pid"
	until_true sleeps "$pid"
	record second -p "$pid"
	until_true is_in_state "$pid" recorded
	kill -USR1 "$pid"
	until_true has_said one "done\|failed"
	finish "$recorder"
	grep -q done one
	expect_in "$(cat second.err)" "did not run at all"
}

has_said() { grep -q "$2" "$1"; }
sleeps() { expect_not grep -l "^State:.R" "/proc/$1/task/"*/status; }

@test "programs that it begins: not with --no-children" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_BEGIN" system "$WEFT_BURN 100"
	record file -p "$pid" --chunk-time 50ms --no-children
	until_true has_samples file
	kill -USR1 "$pid"
	until_true has_done one 1
	finish "$recorder"
	expect_status 0
	[ "$(processes_of file.jfr)" = begin ]
}

@test "it becomes another program, which has weft: recorded on" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" exec
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	kill -USR1 "$pid"
	until_true is_called "$pid" sleep
	until_true is_in_state "$pid" recorded
	finish "$recorder"
	expect_status 0
	expect_in "$(cat file.err)" "2 processes"
	expect_not grep -q "became another program" file.err
}

is_called() { [ "$(cat "/proc/$1/comm")" = "$2" ]; }

@test "it becomes another program, which has not: its part is over" {
	start one env CARRY_LIBRARY="$WEFT_SO" "$WEFT_CARRY" exec
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	kill -USR1 "$pid"
	status=0
	wait "$recorder" || status=$?
	expect_status 0
	expect_in "$(cat file.err)" "1 process"
	expect_in "$(cat file.err)" "1 of the processes became another program (exec), which is not recorded"
}

@test "WEFT_RECORD when weft is loaded by dlopen" {
	start one env CARRY_LIBRARY="$WEFT_SO" WEFT_RECORD="$PWD/own.jfr" WEFT_COMMAND="$WEFT" "$WEFT_CARRY" burn 2
	until_true is_in_state "$pid" recorded
	kill -TERM "$pid"
	wait "$pid" || true
	until_true has_samples own
}

# refused PID WORDS
refused() {
	weft record -o refused.jfr -p "$1"
	expect_status 1
	expect_in "$err" "weft record: process $1: $2"
	[ ! -e refused.jfr ]
}

@test "programs that cannot be attached to, and what to do" {
	start one "$WEFT_CARRY" rest
	refused "$pid" "carries no weft: start it by \`weft record -- CMD\`, or with LD_PRELOAD=.../libweft.so and attach later"
	start two "$WEFT_CARRY_A" burn
	refused "$pid" "has the context part of weft alone"
	start three "$WEFT_CARRY_SO" rest
	thread=$(ls "/proc/$pid/task" | grep -vx "$pid" | head -n 1)
	refused "$thread" "is a thread; name its process: $pid"
	kill -USR2 "$pid"
	until_true grep -q ^child= three
	refused "$(sed -n 's/^child=//p' three)" "was forked, and has begun no session of its own; attach to its parent, whose children join from then on: $pid"
	refused 4194399 "no such process"
	refused "$$" "carries no weft"
}

@test "a 32-bit program is named as such" {
	# instructions alone: no 32-bit C library is needed
	echo 'void _start(void) { for (;;) __asm__ volatile("int $0x80" ::"a"(29)); }' >pause.c
	gcc -m32 -nostdlib -static -ffreestanding -fno-pic -no-pie -fcf-protection=none -o pause32 \
		pause.c 2>/dev/null || skip "nothing builds 32-bit programs here"
	./pause32 3>&- &
	pid=$!
	CARRIED+=("$pid")
	sleep 0.1
	[ "$(readlink "/proc/$pid/exe")" = "$PWD/pause32" ] || skip "the kernel runs no 32-bit programs"
	refused "$pid" "is a 32-bit program: weft cannot be loaded there"
}

@test "a program in another PID namespace" {
	unshare -p -f true 2>/dev/null || skip "no PID namespace may be made"
	start one unshare -p -f --kill-child env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" burn 2
	inner=$(pgrep -P "$pid")
	CARRIED+=("$inner")
	way="nsenter -t $inner -p unshare --mount-proc weft record -p 1"
	refused "$inner" "lives in another PID namespace (a container): run weft there: $way"
	start without unshare -p -f --kill-child "$WEFT_CARRY" rest
	without=$(pgrep -P "$pid")
	CARRIED+=("$without")
	refused "$without" "carries no weft"
	$(sed 's/ weft .*/ true/' <<<"$way") || skip "no /proc may be mounted"
	# What it says is what is to be done; here weft is not in PATH.
	status=0
	PATH="$(dirname "$WEFT"):$PATH" $way -o inner.jfr --duration 3s 2>inner.err || status=$?
	expect_status 0
	expect_in "$(cat inner.err)" "1 process: inner.jfr"
	has_samples inner
	"$WEFT" report --by thread inner.jfr | grep -q carry
}

@test "a program that has closed all descriptors: root alone can attach" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" close
	[ "$(find "/proc/$pid/fd" -lname '*weft-session*' | wc -l)" = 0 ]
	if [ "$(id -u)" = 0 ]; then
		record file -p "$pid" --chunk-time 50ms
		until_true has_samples file
		finish "$recorder"
		expect_status 0
	else
		refused "$pid" "has closed all its descriptors, its session's with them: only root can attach to it"
		return
	fi
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 777 "$BATS_TEST_TMPDIR"
	$as_nobody "$WEFT" --version >/dev/null 2>&1 || skip "the command cannot be run by others"
	start two $as_nobody env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" close
	$as_nobody env HOME="$PWD" "$WEFT" record -o other.jfr -p "$pid" 2>other.err && return 1
	expect_in "$(cat other.err)" "has closed all its descriptors, its session's with them: only root can attach to it"
}

# The second signal makes it leave the program; two that come at once are one.
has_left() { # PID of a child
	kill -INT "$1"
	! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status"
}

@test "programs that were recorded from their start" {
	start one "$WEFT" record -o file.jfr -- "$WEFT_CARRY" rest
	target=$(pgrep -P "$pid")
	CARRIED+=("$target")
	refused "$target" "is recorded already, by weft with pid $pid"
	until_true has_left "$pid"
	wait "$pid" || true
	[ -d "/proc/$target" ] || skip "it ended with its recorder"
	refused "$target" "was recorded from its start"
}

@test "a program of another user is refused, and root can" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	command -v setpriv >/dev/null || skip "no setpriv"
	chmod 777 "$BATS_TEST_TMPDIR"
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	$as_nobody "$WEFT" --version >/dev/null 2>&1 || skip "the command cannot be run by others"
	start one "$WEFT_CARRY_SO" burn
	$as_nobody env HOME="$PWD" "$WEFT" record -o other.jfr -p "$pid" 2>other.err && return 1
	expect_in "$(cat other.err)" "it may not be looked at"
	start two $as_nobody "$WEFT_CARRY_SO" burn
	before=$(ask two "$pid")
	record file -p "$pid" --chunk-time 50ms
	until_true has_samples file
	finish "$recorder"
	expect_status 0
	expect_unharmed "$before" "$(ask two "$pid")"
	# it has reached the collector, and got the unwind tables
	[ "$("$WEFT" report --json file.jfr | jq '.counters.stack_walked // 0')" -gt 0 ]
}

@test "wrong usage" {
	weft record -p 1 -- true
	expect_status 2
	weft record -p one
	expect_status 2
	expect_in "$err" "'one' is no process id"
	weft record
	expect_status 2
	weft record --wait-all -p 1
	expect_status 2
}
