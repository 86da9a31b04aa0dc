#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft record: the program's own life, the ends of a recording, what the file then holds.

load common

record() { weft record "$@"; }

# field PATTERN: a number from the summary line
samples_told() { sed -n 's/^weft record: \([0-9]*\) sample.*/\1/p' stderr; }

# An expression of jq on the report of a file
report() { "$WEFT" report --json "$@"; }

# agrees FILE MS: the CPU time that the samples stand for is that which was used, as far as so many
# independent samples can tell: one every period or tick, whichever is longer, five sigma.
agrees() {
	report "$1" | jq -e --argjson used "$2" '
		([.events[] | .period_ns // 0] + [4000000] | max) as $each |
		(.weight_ns / 1e6) as $told | ($used * $each / 1e6 | sqrt) as $sigma |
		if ($told - $used | fabs) < 5 * $sigma then true
		else "told \($told) ms, used \($used), sigma \($sigma)" | halt_error end'
}

# Nothing is missing: attempted = delivered + lost + pending, and the file holds what is told.
balanced() {
	[ "$(report "$1" | jq .books.balanced)" = true ]
	[ "$(report "$1" | jq .samples)" = "$(samples_told)" ]
}

wait_for_line() {
	for _ in $(seq 300); do
		grep -q "$1" "$2" 2>/dev/null && return
		sleep 0.1
	done
	echo "no '$1' in $2"
	return 1
}

# Until a process has used so many hundredths of a second of CPU time.
wait_for_cpu_of() {
	for _ in $(seq 600); do
		[ "$(awk '{ print $14 }' "/proc/$1/stat")" -ge "$2" ] && return
		sleep 0.1
	done
	echo "$1 gets no CPU time"
	return 1
}

# record_beside NAME ARGUMENT...: what waits most of the time, until `ended NAME`.
record_beside() {
	local name=$1
	shift
	"$WEFT" record -o "$name.jfr" "$@" >"$name.out" 2>"$name.err" </dev/null 3>&- &
	echo $! >"$name.pid"
}

ended() { # NAME: with status 0
	wait "$(cat "$1.pid")"
}

@test "output, input and status are the program's own" {
	status=0
	printf 'a\nb\n' | "$WEFT" record -- sh -c 'cat; echo err >&2; exit 42' >stdout 2>stderr || status=$?
	[ "$status" = 42 ]
	[ "$(cat stdout)" = $'a\nb' ]
	[ "$(grep -v '^weft record: ' stderr)" = err ]
	[ "$(grep -c '^weft record: ' stderr)" = 1 ]
}

@test "a signal is status 128+n" {
	record -- sh -c 'kill -9 $$'
	expect_status 137
	record -- sh -c 'kill -TERM $$'
	expect_status 143
}

@test "stacks of threads read as without weft" {
	record -F 1000 -o a.jfr -- "$WEFT_BURN" 200 2
	expect_status 0
	# What a thread begins with is the runtime's, which hands on to the program.
	"$WEFT" report a.jfr --json --by module >modules
	[ "$(jq '[.rows[] | select(.key | startswith("burn")) | .samples] | add' modules)" -gt 0 ]
	"$WEFT" convert a.jfr --to collapsed >stacks
	grep -q ';run;use' stacks
	# No frame of weft's below one of the program. Below libc's it may stand: weft calls libc, too.
	"$WEFT" print --json --events ExecutionSample a.jfr >samples
	jq -c '.recording.events[].values.stackTrace.frames | map(.method.type.name)' samples >frames
	[ "$(wc -l <frames)" -gt 100 ]
	jq -s '[.[] | . as $f | range(1; length) | select(($f[.] | startswith("libweft")) and
		($f[:.] | any(startswith("burn"))))] | length' frames >wrong
	[ "$(cat wrong)" = 0 ]
}

@test "the file is whole, 0600, and its samples are those told" {
	record -o a.jfr -- "$WEFT_BURN" 200 2
	expect_status 0
	[ "$out" = burnt ]
	[ "$(stat -c %a a.jfr)" = 600 ]
	[ "$(samples_told)" -gt 0 ]
	balanced a.jfr
}

@test "CPU time told and used agree" {
	record -o a.jfr -- "$WEFT_BURN" 1000 2
	balanced a.jfr
	agrees a.jfr 2000
}

@test "functions are named and stacks reach main" {
	record -o a.jfr -- "$WEFT_BURN" 300
	# The rest is the loader's, which takes longer where nothing is in the caches.
	report a.jfr | jq -e '.weight_ns as $all | .rows[] | select(.key == "main") | .total_ns * 2 > $all'
	report a.jfr | jq -e '(.rows[] | select(.key == "main") | .total_ns) as $main |
		.rows[] | select(.key == "use") | .self_ns * 2 > $main'
}

@test "weft.jfr is the default, and one older is kept" {
	record -- "$WEFT_BURN" 20
	expect_status 0
	first=$(sha256sum <weft.jfr)
	record -- "$WEFT_BURN" 20
	[ "$(sha256sum <weft.jfr.old)" = "$first" ]
	record -- "$WEFT_BURN" 20
	[ "$(find . -name '*.jfr*' | wc -l)" = 2 ]
}

@test "-o replaces" {
	echo old >a.jfr
	record -o a.jfr -- "$WEFT_BURN" 20
	expect_status 0
	[ ! -e a.jfr.old ]
	report a.jfr >/dev/null
}

@test "-F and -i set the period" {
	record -o a.jfr -F 50 -- "$WEFT_BURN" 800
	[ "$(report a.jfr | jq '.events["jdk.ExecutionSample"].period_ns')" = 20000000 ]
	agrees a.jfr 800
	record -o a.jfr -i 40ms -- "$WEFT_BURN" 800
	[ "$(report a.jfr | jq '.events["jdk.ExecutionSample"].period_ns')" = 40000000 ]
	agrees a.jfr 800
	record -i 1ms -F 10 -- true
	expect_status 2
}

@test "a rate above HZ is told, and counts right by weight" {
	record --clock ticks -o a.jfr -F 5000 -- "$WEFT_BURN" 300
	expect_in "$err" ' times a second, and there is no finer clock'
	balanced a.jfr
	report a.jfr | jq -e '.weight_ns == .samples * 200000'
	agrees a.jfr 300
	record --clock none -o a.jfr -- true
	expect_status 2
}

@test "the recording says by which clock, and why" {
	record -o a.jfr --clock ticks -- "$WEFT_BURN" 100
	report a.jfr | jq -e '.clocks[0].clock == "ticks" and .clocks[0].reason == "asked for"'
	record -o a.jfr -- "$WEFT_BURN" 100
	report a.jfr | jq -e '.clocks[0] | (.clock == "hrtimer") == (.reason == null)'
}

@test "forked children are in the same file" {
	record -o a.jfr -- "$WEFT_BURN" fork 5 60
	expect_status 0
	expect_in "$err" '6 processes'
	[ "$(report --by process a.jfr | jq '.rows | length')" -ge 5 ]
}

@test "programs that it starts are in the same file" {
	record -o a.jfr -- sh -c "$WEFT_BURN 150; exec $WEFT_BURN exec 150"
	expect_status 0
	balanced a.jfr
	report a.jfr >report
	# sh, burn, and what sh became, twice: all of them, whatever each of them got
	jq -e '[.processes[] | select(.process | startswith("burn"))] | length >= 3' report
	jq -e '[.processes[] | select(.end == "exec")] | length >= 2' report
	jq -e '.weight_ns > 0' report
}

@test "--no-children: the program alone" {
	record -o a.jfr --no-children -- sh -c "ls -l /proc/self/fd; $WEFT_BURN 60; :"
	[[ "$out" != *weft-session* ]]
	expect_status 0
	expect_in "$err" '1 process:'
}

@test "what outlives the program is named, and --wait-all waits" {
	record -o a.jfr -- "$WEFT_BURN" orphan 1500
	expect_status 0
	expect_in "$err" '1 process runs on, unrecorded: burn ['
	expect_in "$err" '--wait-all'
	record -o b.jfr --wait-all -- "$WEFT_BURN" orphan 500
	expect_status 0
	expect_not grep -q 'runs on' stderr
	[ "$(report b.jfr | jq '.weight_ns > 450000000')" = true ]
}

@test "--duration: the file is finished, the program runs on, its status is passed on" {
	"$WEFT" record -o a.jfr --duration 300ms -- sh -c "$WEFT_BURN 400; sleep 1; echo later; exit 5" \
		>stdout 2>stderr &
	pid=$!
	wait_for_line '^weft record: ' stderr
	report a.jfr >/dev/null
	[ ! -s stdout ] || ! grep -q later stdout
	status=0
	wait $pid || status=$?
	[ $status = 5 ]
	grep -q later stdout
}

@test "Ctrl-C reaches the program; weft waits and passes its status on" {
	# a terminal's Ctrl-C goes to the whole group, and comes from the kernel: script has one
	command -v script >/dev/null || skip "no script(1)"
	(wait_for_line ready typed && printf '\003') |
		timeout 60 script -qec "exec $WEFT record -o a.jfr -- $WEFT_BURN catch" typed >/dev/null || status=$?
	[ "$status" = 7 ]
	grep -q 'weft record: [0-9]* sample' typed
	report a.jfr >/dev/null
}

@test "SIGTERM is passed on, and the file is whole" {
	"$WEFT" record -o a.jfr -- "$WEFT_BURN" catch >stdout 2>stderr &
	pid=$!
	wait_for_line ready stdout
	wait_for_cpu_of "$(pgrep -P $pid)" 5
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ $status = 7 ]
	report a.jfr >/dev/null
}

@test "SIGTERM to weft ends also for a program that will not: 128+15" {
	"$WEFT" record -o a.jfr -- sh -c "trap '' TERM; echo ready; $WEFT_BURN 4000; echo over" >stdout 2>stderr &
	pid=$!
	wait_for_line ready stdout
	program=$(pgrep -P $pid)
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ $status = 143 ]
	expect_not grep -q over stdout
	pkill -KILL -P "$program" || true # which nobody waits for
	report a.jfr >/dev/null
}

@test "timeout ends it like any program" {
	status=0
	timeout 2 "$WEFT" record -o a.jfr -- "$WEFT_BURN" wait >stdout 2>stderr || status=$?
	[ $status = 124 ]
	wait_for_line '^weft record: ' stderr
	report a.jfr >/dev/null
}

@test "kill -9 of the program: the file holds everything up to it" {
	"$WEFT" record -o a.jfr -- "$WEFT_BURN" wait >stdout 2>stderr &
	pid=$!
	wait_for_line ready stdout
	burn=$(pgrep -P $pid -x burn)
	wait_for_cpu_of "$burn" 30
	kill -9 "$burn"
	status=0
	wait $pid || status=$?
	[ $status = 137 ]
	[ "$(report a.jfr | jq '.samples > 20')" = true ]
	[ "$(report a.jfr | jq '[.lost[]] | add')" = 0 ]
}

@test "kill -9 of weft: the program runs on unharmed, whole chunks stay" {
	mkdir place
	export WEFT_DIR=$PWD/place # its socket stays behind
	"$WEFT" record -o a.jfr --chunk-time 100ms -- sh -c "$WEFT_BURN 2000 2; echo \$? >program-status" \
		>stdout 2>stderr &
	pid=$!
	for _ in $(seq 300); do
		[ "$(report a.jfr 2>/dev/null | jq '.samples > 0')" = true ] && break
		sleep 0.1
	done
	kill -9 $pid
	for _ in $(seq 300); do
		[ -e program-status ] && break
		sleep 0.1
	done
	[ "$(cat program-status)" = 0 ]
	grep -q burnt stdout
	[ "$(report a.jfr | jq '.samples > 0')" = true ]
}

@test "a full disk: the program runs on, the file opens, status 1" {
	mkdir small
	unshare -m mount -t tmpfs -o size=64k none small 2>/dev/null || skip "cannot mount a small disk"
	status=0
	unshare -m sh -c "mount -t tmpfs -o size=40k none small
		$WEFT record -o small/a.jfr --chunk-time 50ms -- $WEFT_BURN 1000 2; echo \$? >status
		$WEFT report --json small/a.jfr >report" >stdout 2>stderr || status=$?
	[ "$(cat status)" = 1 ]
	grep -q burnt stdout
	grep -q '^weft record: small/a.jfr: No space left on device' stderr
	grep -q '(unwritten ' stderr
	[ "$(jq .samples report)" = "$(samples_told)" ]
}

@test "a limit of file size that leaves no room for a session is told" {
	(
		trap '' XFSZ
		ulimit -f 64
		"$WEFT" record -o a.jfr -- "$WEFT_BURN" 20 >stdout 2>stderr
	)
	grep -q burnt stdout
	grep -q 'could not be recorded: File too large' stderr
}

@test "a file that cannot be made: error before the program starts" {
	record -o /dev/full -- sh -c 'echo ran'
	expect_status 1
	expect_in "$err" '/dev/full'
	[ -z "$out" ]
	record -o no/such/dir/a.jfr -- sh -c 'echo ran'
	expect_status 1
	expect_in "$err" 'no/such/dir/a.jfr: No such file'
	[ -z "$out" ]
}

@test "commands that are not there, or cannot be run" {
	record -- no-such-command-at-all
	expect_status 127
	expect_in "$err" 'no-such-command-at-all: command not found'
	record -- ./no-such-file
	expect_status 127
	echo hello >text
	record -- ./text
	expect_status 126
	chmod +x text
	record -- ./text
	expect_status 126
	expect_in "$err" 'neither an ELF program nor a script'
	record -- /tmp
	expect_status 126
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	record -- ./script
	expect_status 127
	[ ! -e weft.jfr ]
}

@test "what cannot be recorded is refused, and why" {
	cp "$WEFT_BURN" thirty-two
	printf '\001' | dd of=thirty-two bs=1 seek=4 conv=notrunc status=none
	record -- ./thirty-two
	expect_status 1
	expect_in "$err" '32-bit'
	cp "$WEFT_BURN" other
	printf '\025\000' | dd of=other bs=1 seek=18 conv=notrunc status=none
	record -- ./other
	expect_status 1
	expect_in "$err" 'another machine'
	printf '#!%s/other\n' "$PWD" >script
	chmod +x script
	record -- ./script
	expect_status 1
	expect_in "$err" "$PWD/other: cannot be recorded"
}

@test "setuid programs are refused" {
	cp "$WEFT_BURN" raised
	chmod 4755 raised
	if [ "$(id -u)" = 0 ]; then
		chown 1 raised
		chmod 4755 raised
	else
		skip "needs root to give a file away"
	fi
	record -- ./raised 10
	expect_status 1
	expect_in "$err" 'setuid'
}

@test "a static program that a recorded one runs is named at the end" {
	[ -x "$WEFT_STATIC" ] || skip "no static program was built"
	cp "$(command -v sleep)" dynamic
	record_beside other -- ./dynamic 1.5
	record -o a.jfr -- sh -c "'$WEFT_STATIC' ./dynamic 3; true"
	expect_status 0
	expect_in "$err" '1 program ran unrecorded: '
	expect_in "$err" ' (statically linked)'
	ended other
	expect_not grep -q 'ran unrecorded' other.err
}

@test "programs that lose LD_PRELOAD, or cannot reach weft, are named at the end" {
	cp "$(command -v sleep)" dynamic
	record_beside lost -- sh -c 'env -i ./dynamic 3; true'
	record_beside alone --no-children -- sh -c './dynamic 2; true'
	record -o a.jfr -- env WEFT_SOCKET="$PWD/nowhere" sh -c \
		'(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exec sleep 3)'
	expect_status 0
	expect_in "$err" ' ran unrecorded: sh ['
	expect_in "$err" ' (could not reach the recording)'
	# the program that env became is not said to be a thread of env
	expect_not grep -q 'could not be sampled' stderr
	ended lost
	expect_in "$(cat lost.err)" '1 program ran unrecorded: '
	expect_in "$(cat lost.err)" ' (begun without LD_PRELOAD)'
	ended alone
	expect_not grep -q 'ran unrecorded' alone.err
}

@test "a static program is refused; from a shell its dynamic children are recorded" {
	[ -x "$WEFT_STATIC" ] || skip "no static program was built"
	record -o a.jfr -- "$WEFT_STATIC" "$WEFT_BURN" 100
	expect_status 1
	expect_in "$err" "$WEFT_STATIC: cannot be recorded: statically linked"
	record -o a.jfr -- sh -c "$WEFT_STATIC $WEFT_BURN 100"
	expect_status 0
	expect_in "$err" '2 processes:'
	[ "$(report a.jfr | jq '.samples > 10')" = true ]
}

@test "AddressSanitizer's shared runtime is refused" {
	[ -x "$WEFT_ASAN" ] || skip "no such program was built"
	record -- "$WEFT_ASAN" 10
	expect_status 1
	expect_in "$err" ASan
}

@test "AddressSanitizer's programs run where they are started by one that is recorded" {
	[ -x "$WEFT_ASAN" ] || skip "no such program was built"
	ln -s "$WEFT_ASAN" checked
	printf '#!%s\n' "$WEFT_ASAN" >script
	printf 'all: ; %s 10\n' "$WEFT_ASAN" >Makefile
	chmod +x script
	for command in "./checked 10; ./checked 10" "exec ./checked 10" "PATH=. checked 10" \
		"env ./checked 10" "env PATH=.:\$PATH checked 10" "timeout 60 ./checked 10" "make" \
		"bash -c './checked 10; true'" \
		"$(setpriv --no-new-privs true 2>/dev/null && echo 'setpriv --no-new-privs ./checked 10')" \
		"$(command -v python3 >/dev/null && echo python3 -c "'import os, subprocess
os.system(\"./checked 10\") and exit(1)
subprocess.check_call([\"./checked\", \"10\"])
os.posix_spawnp(\"./checked\", [\"checked\", \"10\"], os.environ)
exit(os.wait()[1] != 0)'")"; do
		record -o a.jfr -- sh -ec "$command"
		expect_status 0
		expect_not grep -q 'ASan runtime' stderr
	done
	record -o a.jfr -- sh -c './script; true'
	expect_not grep -q 'ASan runtime' stderr
	record -o a.jfr -- sh -c './checked 1500; true'
	expect_in "$err" 'ran unrecorded: checked'
	expect_in "$err" '(needs libasan.so first)'
}

@test "AddressSanitizer's runtime stays the first library where it is preloaded" {
	runtime=$(gcc -print-file-name=libasan.so 2>/dev/null) && [ -e "$runtime" ] || skip "not installed"
	LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$WEFT" --version >/dev/null 2>&1 ||
		skip "weft itself has another sanitizer's runtime"
	export LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0
	record -o a.jfr -- sh -c 'echo "$LD_PRELOAD"'
	unset LD_PRELOAD
	expect_status 0
	case $out in
	"$runtime":*libweft.so) ;;
	*) echo "$out" && false ;;
	esac
	[ -x "$WEFT_ASAN" ] || skip "no such program was built"
	export LD_PRELOAD=$runtime
	record -o a.jfr -- "$WEFT_ASAN" 10
	unset LD_PRELOAD
	expect_status 0
	expect_not grep -q 'ran unrecorded' stderr
}

@test "the program's own preload is kept, and scripts are followed" {
	printf '#!/bin/sh\nexec /usr/bin/env sh -c "echo \\$LD_PRELOAD"\n' >script
	chmod +x script
	LD_PRELOAD=libm.so.6 "$WEFT" record -- ./script >stdout 2>stderr
	[[ "$(cat stdout)" == *libweft.so:libm.so.6 ]]
}

@test "descriptors, limits and signal mask are as without weft" {
	probe='ls -l /proc/self/fd | sed "s/.* \([0-9]*\) -> .*/\1/" | grep -c "^[0-9]"; grep -E "Sig(Blk|Ign)" /proc/self/status; ulimit -n; umask; nice'
	ulimit -Sn 200
	sh -c "$probe" >plain </dev/null 2>/dev/null
	"$WEFT" record -- sh -c "$probe" >recorded </dev/null 2>/dev/null
	diff plain recorded
	# Ignored, even where libc takes the signal for itself at the first thread.
	case $(uname -m) in x86_64) call=13 ;; aarch64) call=134 ;; *) skip "no number of rt_sigaction" ;; esac
	ignore="import ctypes, os, struct, sys
	action = ctypes.create_string_buffer(struct.pack('QQQQ', 1, 0, 0, 0))
	ignored = [ctypes.CDLL(None).syscall($call, n, action, None, 8) for n in (15, 32, 33)]
	os.execvp(sys.argv[1], sys.argv[1:]) if ignored == [0, 0, 0] else sys.exit(99)"
	python3 -c "${ignore//$'\t'/}" sh -c "$probe" >plain </dev/null 2>/dev/null
	python3 -c "${ignore//$'\t'/}" "$WEFT" record -- sh -c "$probe" >recorded </dev/null 2>/dev/null
	grep -q 'SigIgn:.*[0-9a-f]*[13579bdf][89a-f].......$' plain
	diff plain recorded
}

@test "--waits: its library before ours, and the groups in the environment, for children too" {
	printf '#!/bin/sh\nexec /usr/bin/env sh -c "echo \\$LD_PRELOAD \\$WEFT_WAITS"\n' >script
	chmod +x script
	LD_PRELOAD=libm.so.6 "$WEFT" record --waits -- ./script >stdout 2>stderr
	[[ "$(cat stdout)" == */libweft-waits.so:*/libweft.so:libm.so.6\ locks,io ]]
	"$WEFT" record --waits=io,io -- ./script >stdout 2>stderr
	[[ "$(cat stdout)" == *\ io ]]
	"$WEFT" record --waits io -- true >stdout 2>stderr || status=$?
	[ "$status" = 127 ] # io is the command
	record -- ./script
	[[ "$out" != *libweft-waits* ]]
}

@test "--waits: what is refused" {
	record --waits=lock -- true
	expect_status 2
	expect_in "$err" "did you mean 'locks'?"
	record --waits --pid 1
	expect_status 2
	expect_in "$err" "--waits: not with --pid"
	mkdir alone
	cp "$WEFT_BUILD/src/runtime/libweft.so" alone/
	WEFT_LIB=$PWD/alone/libweft.so record --waits -- true
	expect_status 1
	expect_in "$err" libweft-waits.so
	[ -n "${WEFT_STATIC-}" ] || return 0
	record --waits -- "$WEFT_STATIC" true
	expect_status 1
	expect_in "$err" "statically linked"
}

@test "libweft.so that is not there: clear error" {
	WEFT_LIB=/no/such/libweft.so record -- true
	expect_status 1
	expect_in "$err" libweft.so
}

@test "--inline-context: ids in the samples" {
	record -o a.jfr --inline-context -- "$WEFT_HELLO"
	expect_status 0
	[ "$(report --by tag:job a.jfr | jq -r '[.rows[].key] - ["(none)"] | sort | join(" ")')" = "large small" ]
	record -o b.jfr -- "$WEFT_HELLO"
	[ "$(report --by tag:job b.jfr | jq -r '[.rows[].key] - ["(none)"] | sort | join(" ")')" = "large small" ]
}

@test "many chunks read as one recording" {
	record -o a.jfr --chunk-time 20ms -- "$WEFT_HELLO"
	expect_status 0
	[ "$(report a.jfr | jq .samples)" = "$(samples_told)" ]
	# a sample may fall between the two jobs
	[ "$(report --by tag:job a.jfr | jq -r '[.rows[].key] - ["(none)"] | sort | join(" ")')" = "large small" ]
	record -o a.jfr --chunk-size 4K -- "$WEFT_BURN" 400 4
	[ "$(report a.jfr | jq .samples)" = "$(samples_told)" ]
}

@test "no directory of a rendezvous is left" {
	mkdir place
	WEFT_DIR=$PWD/place record -- "$WEFT_BURN" 10
	expect_status 0
	[ -z "$(ls place)" ]
}

@test "no progress when stderr is no terminal, and none left when it is" {
	record -- "$WEFT_BURN" 500
	expect_not grep -q $'\r' stderr
	command -v script >/dev/null || skip "no script(1)"
	timeout 60 script -qec "exec $WEFT record -o a.jfr -- $WEFT_BURN 800" typed >/dev/null </dev/null
	grep -q 'samples, 1 processes' typed
	grep -q 'weft record: [0-9]* samples' typed
}

@test "LD_PRELOAD and WEFT_RECORD alone make a file" {
	library=$WEFT_BUILD/src/runtime/libweft.so
	LD_PRELOAD=$library WEFT_RECORD=$PWD/a.jfr "$WEFT_BURN" 300 2 >stdout 2>stderr
	[ "$(cat stdout)" = burnt ]
	[ ! -s stderr ]
	[ "$(report a.jfr | jq '.samples > 40')" = true ]
	# children join, and the pipeline does not hang on the collector
	LD_PRELOAD=$library WEFT_RECORD=$PWD/b.jfr timeout 60 sh -c "$WEFT_BURN 60; $WEFT_BURN 60; :" | cat >stdout
	# the shell may have come to a sample, too
	[ "$(report --by process b.jfr | jq '[.rows[] | select(.key | startswith("burn ["))] | length')" = 2 ]
}

@test "JDK 25 shows the context of every sample, chunk by chunk" {
	jfr=$(ls -d /usr/lib/jvm/*25*/bin/jfr 2>/dev/null | head -n 1)
	[ -x "$jfr" ] || skip "no JDK 25"
	record -o a.jfr --chunk-time 20ms -- "$WEFT_HELLO"
	"$jfr" print --events jdk.ExecutionSample a.jfr >printed
	for job in small large; do
		mine=$(report --by tag:job a.jfr | jq ".rows[] | select(.key == \"$job\") | .samples")
		[ "$(grep -c "Context: Span.job = \"$job\"" printed)" = "$mine" ]
	done
}

@test "from a place with blanks and colons in its name, also what runs later" {
	mkdir -p 'a b:c/bin' 'a b:c/lib'
	cp "$WEFT" 'a b:c/bin/weft'
	cp "$WEFT_BUILD/src/runtime/libweft.so" 'a b:c/lib/'
	export WEFT_CACHE=$PWD/cache
	for _ in 1 2; do
		"a b:c/bin/weft" record -o out.jfr -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; /bin/true' 2>stderr
		expect_not grep -q 'ld.so' stderr
		grep -q ' 2 processes' stderr || { cat stderr; return 1; }
	done
	[ "$(find cache -type l | wc -l)" = 1 ]
	# Where the cache's path is as bad, in a directory of our own in /tmp, which stays.
	preload=$(WEFT_CACHE="$PWD/no such: place" 'a b:c/bin/weft' record -o out.jfr -- sh -c 'echo "$LD_PRELOAD"' 2>stderr)
	expect_not grep -q 'ld.so' stderr
	[[ $preload == /tmp/weft-cache-"$(id -u)"*/preload-*.so ]]
	[ "$(readlink "$preload")" = "$(realpath 'a b:c/lib/libweft.so')" ]
	rm "$preload"
}

@test "a rate that is too low or too high is named as it was typed" {
	record -i 0 -- true
	expect_status 2
	expect_in "$err" "--interval: '0': a sample each 0 ns"
	record -F 1000000000 -- true
	expect_status 2
	expect_in "$err" "--frequency: '1000000000': a sample each 1 ns"
}

@test "a /proc of another PID namespace is refused" {
	unshare -r -p --fork true 2>/dev/null || skip "may not make a PID namespace"
	status=0
	unshare -r -p --fork "$WEFT" record -- true >stdout 2>stderr </dev/null || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "/proc: it shows another PID namespace"
	[ ! -e weft.jfr ]
}
