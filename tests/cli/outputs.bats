#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What -o does with each kind of name is the same for every verb: the table of src/base/output.h.

load common

# What the verbs read, and a file that nobody is to harm.
inputs() {
	"$MAKE_RECORDING" shop shop.jfr
	echo '{"probe_id":7,"tid":1,"addr":"0x0000000000401000","seq":2,"is_active":true,"ts":1000}' >trace.jsonl
	echo precious >precious
	chmod 644 precious
}

# await COMMAND...: until it is so, but not for ever
await() {
	local tries=0
	until "$@"; do
		[ $((tries += 1)) -lt 6000 ] || { echo "in vain: $*"; return 1; }
		sleep 0.01
	done
}

# Every verb that writes a file, and how it is called: write VERB OUT
all_verbs="convert collapsed merge print csv jsonl perfetto run record"

write() {
	case $1 in
	convert) weft convert shop.jfr --to pprof -o "$2" ;;
	collapsed) weft convert shop.jfr --to collapsed -o "$2" ;;
	merge) weft merge -o "$2" shop.jfr ;;
	print) weft print -o "$2" shop.jfr ;;
	csv | jsonl | perfetto) weft coro export --to "$1" -o "$2" trace.jsonl ;;
	run) weft coro run --replace -o "$2" -- true ;;
	record) weft record -o "$2" -- "$WEFT_BURN" 20 ;;
	esac
}

each() { for verb in $all_verbs; do "$@" || { echo "verb: $verb"; return 1; }; done; }

precious_is_there() {
	[ "$(cat precious)" = precious ] && [ "$(stat -c %a precious)" = 644 ]
}

new_is_private() {
	rm -f out out.maps
	(umask "$1" && write "$verb" out && [ "$status" = 0 ]) || { cat stderr; return 1; }
	[ "$(stat -c %a out)" = 600 ] && [ -f out ] || { stat out; return 1; }
}

@test "a new file is private, whatever the umask" {
	inputs
	each new_is_private 022
	each new_is_private 0
}

follows_no_link() {
	rm -f link out
	ln -s precious link
	write "$verb" link
	[ "$status" = 1 ] && [[ $err == *"link: a symbolic link"* ]] || { cat stderr; return 1; }
	[ -L link ] && precious_is_there || return 1
	ln -sf nowhere link
	write "$verb" link
	[ "$status" = 1 ] && [ -L link ] && [ ! -e nowhere ]
}

@test "a link is not followed, and the file behind it stays" {
	inputs
	each follows_no_link
	[ "$(ls)" = "link
precious
shop.jfr
stderr
stdout
trace.jsonl" ] || { ls; return 1; }
}

refuses() { # NAME WHY
	write "$verb" "$1"
	[ "$status" = 1 ] && [[ $err == *"$1: $2"* ]] || { cat stderr; return 1; }
}

@test "a directory and a socket are refused" {
	inputs
	mkdir directory
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	each refuses directory "Is a directory"
	each refuses socket "no file, no pipe and no character device"
	[ -S socket ]
	[ -z "$(ls -A directory)" ]
}

writes() {
	write "$verb" "$1"
	[ "$status" = 0 ] || { cat stderr; return 1; }
}

@test "a device, and a link to one, is written and stays as it is" {
	inputs
	ln -s /dev/null link
	mode=$(stat -c '%a %F' /dev/null)
	each writes /dev/null
	each writes link
	[ "$(stat -c '%a %F' /dev/null)" = "$mode" ]
	[ -L link ]
}

is_read_from_pipe() {
	cat pipe >got &
	local reader=$!
	write "$verb" pipe
	wait $reader
	[ "$status" = 0 ] && [ -p pipe ] && [ -s got ] || { cat stderr; return 1; }
}

@test "a pipe that is read is written to" {
	inputs
	mkfifo pipe
	# a trace without a coroutine has no line
	all_verbs=${all_verbs/ run/}
	each is_read_from_pipe
}

is_let_be() {
	echo old >busy
	[ "$(flock busy cat busy)" = old ]
	exec 9<busy
	flock -n 9
	refuses busy "another weft is writing it" && [ "$(cat busy)" = old ]
	local rc=$?
	exec 9<&-
	return $rc
}

@test "a file that another weft writes is let be" {
	command -v flock >/dev/null || skip "no flock"
	inputs
	each is_let_be
}

# ---- recordings

@test "the program is not replaced by its recording, nor what it is given" {
	cp "$WEFT_BURN" prog
	cp prog before
	ln -s prog other-name
	weft record -o ./prog -- ./prog 20
	expect_status 2
	expect_in "$err" "./prog: is the program itself"
	weft record -o ./prog -- ./other-name 20
	expect_status 2
	weft coro run --replace -o prog -- ./prog 20
	expect_status 2
	expect_in "$err" "prog: is the program itself"
	echo 'echo ran' >script
	weft record -o script -- sh script
	expect_status 2
	expect_in "$err" "script: is a file that the program is given"
	weft coro run --replace -o script -- sh script
	expect_status 2
	[ "$(cat script)" = 'echo ran' ]
	cmp prog before
}

@test "standard output is the program's: - is refused, and no file of that name" {
	for name in - /dev/stdout; do
		weft record -o $name -- echo ran
		expect_status 2
		expect_in "$err" "--output: '$name': standard output is CMD's"
		[ -z "$out" ]
	done
	weft record -p $$ -o -
	expect_status 2
	[ ! -e ./- ]
}

@test "/dev/stdout is standard output, whatever that is" {
	inputs
	"$WEFT" merge -o whole.jfr shop.jfr
	echo before >appended
	"$WEFT" merge -o /dev/stdout shop.jfr >>appended
	[ "$(head -1 appended)" = before ]
	[ "$(($(stat -c %s appended) - 7))" = "$(stat -c %s whole.jfr)" ]
	"$WEFT" merge -o - shop.jfr >>appended
	[ "$(($(stat -c %s appended) - 7))" = "$((2 * $(stat -c %s whole.jfr)))" ]
	touch shared
	chmod 644 shared
	"$WEFT" merge -o - shop.jfr >shared
	[ "$(stat -c %a shared)" = 644 ]
	cmp shared whole.jfr
}

# A program that runs until its file is there.
until_told() { echo "touch $1.runs; tries=0; until [ -e $1.ends ] || [ \$((tries += 1)) -gt 3000 ]; do $WEFT_BURN 20 >/dev/null; done"; }

@test "of two recordings with one name the second is refused, the first is whole" {
	for name in weft.jfr named; do
		local option=()
		[ $name = weft.jfr ] || option=(-o $name)
		"$WEFT" record "${option[@]}" -- sh -c "$(until_told $name)" >first.out 2>first.err &
		local pid=$!
		await [ -e $name.runs ]
		weft record "${option[@]}" -- touch second
		expect_status 1
		expect_in "$err" "another weft is writing it"
		[ ! -e second ]
		touch $name.ends
		wait $pid
		"$WEFT" report --json $name >told.json
		[ "$(jq .samples told.json)" = "$(sed -n 's/^weft record: \([0-9]*\) samples\?,.*/\1/p' first.err)" ]
		[ ! -e weft.jfr.old ]
	done
}

has_samples() { [ "$("$WEFT" report --json "$1" 2>/dev/null | jq .samples)" -gt 0 ] 2>/dev/null; }

@test "a recording has its name at once, and is there after SIGKILL" {
	echo old >a.jfr
	"$WEFT" record --chunk-time 5ms -o a.jfr -- sh -c "$(until_told a)" >first.out 2>first.err &
	local pid=$!
	await [ -e a.runs ]
	await has_samples a.jfr
	kill -KILL $pid
	wait $pid || true
	touch a.ends
	weft report a.jfr
	expect_status 0
	[ "$(ls -A | grep -c a.jfr)" = 1 ]
	# nobody writes it any more
	weft record -o a.jfr -- "$WEFT_BURN" 20
	expect_status 0
}

holds_signals() { [ "$(grep -cE '^Name:.*weft|^SigBlk:.*[1-9a-f]' /proc/"$1"/status)" = 2 ]; }

@test "a pipe without a reader: the wait for one ends by a signal, before the program begins" {
	mkfifo pipe
	for signal in TERM INT HUP; do
		env --default-signal=$signal "$WEFT" record -o pipe -- touch started 2>stderr &
		local pid=$!
		# it holds signals back from the moment on at which it waits for them
		await holds_signals $pid
		kill -$signal $pid
		status=0
		wait $pid || status=$?
		[ "$status" = 1 ]
		expect_in "$(cat stderr)" "pipe: Interrupted"
	done
	[ ! -e started ]
}

# itself OUT PROG ARG...: a program that records itself into OUT; nothing of it stays
itself() {
	local name=$1
	shift
	timeout 60 env WEFT_COMMAND="$WEFT" WEFT_RECORD="$name" LD_PRELOAD="$lib" "$@" >stdout 2>stderr
	await no_collector "$name"
}

no_collector() { ! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -q "[c]ollect --socket [^ ]* -o $PWD/$1 "; }

@test "a recording by oneself harms neither the program nor waits for a pipe" {
	lib=$WEFT_BUILD/src/runtime/libweft.so
	[ -e "$lib" ] || skip "no $lib"
	cp "$WEFT_BURN" prog
	cp prog before
	for name in ./prog -; do
		itself $name ./prog 20
		cmp prog before
		[ ! -e ./- ]
	done
	expect_in "$(cat stderr)" "standard output is the program's"
	mkfifo pipe
	ln -s pipe link
	for name in pipe link; do
		itself $name ./prog 20
		expect_in "$(cat stderr)" "$name: a pipe that nobody reads"
	done
	exec 7>mine
	itself /dev/fd/7 ./prog 20
	exec 7>&-
	expect_in "$(cat stderr)" "/dev/fd/7: descriptors are not handed on"
	[ ! -s mine ]
	# what runs a script is its interpreter
	printf '#!/bin/sh\nexec %s 20\n' "$WEFT_BURN" >script
	chmod 755 script
	cp script before
	itself script ./script
	expect_in "$(cat stderr)" "script: is a file that the program is given"
	cmp script before
	exec 8<>pipe
	cat pipe >got 8>&- &
	local reader=$!
	itself link ./prog 20
	await [ -s got ]
	exec 8>&-
	wait $reader
	weft report got
	expect_status 0
}

# ---- descriptors

@test "a descriptor is written from where it stands, and is no name of a file" {
	inputs
	seq 1000 >lines
	{
		echo first >&3
		weft coro export --to jsonl -o /dev/fd/3 trace.jsonl
		echo last >&3
	} 3<>lines
	expect_status 0
	[ "$(head -1 lines)" = first ]
	[ "$(sed -n 2p lines)" = "$(cat trace.jsonl)" ]
	[ "$(sed -n 3p lines)" = last ]
	weft coro run -o /dev/fd/3 -- true 3>traced
	expect_status 0
	expect_not grep names stderr
	expect_not ls -d /dev/fd/3.maps
	# of none that was given, whatever has that number by then
	for number in 3 4 5 6 7 8 9; do
		weft coro run -o /dev/fd/$number -- true 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		expect_status 1
		expect_in "$err" "/dev/fd/$number: Bad file descriptor"
	done
	weft merge -o whole.jfr shop.jfr
	status=0
	"$WEFT" merge -o /dev/stderr shop.jfr 2>merged || status=$?
	expect_status 0
	cmp merged whole.jfr
	weft record -o /dev/fd/01 -- echo ran
	expect_status 2
}

# ---- coroutines

left_over() { # SHM
	"$WEFT" coro run --shm "$1" --keep -o left.jsonl --replace -- true 2>stderr || { cat stderr; return 1; }
	cp "$1" before
}

@test "neither trace nor statistics take the place of the program, the shared file, or each other" {
	inputs
	left_over shm
	for words in "dump --replace -o shm shm" "dump --stats shm shm" "run --attach shm --replace -o shm" \
		"run --attach shm --stats shm -o new" "run --shm new -o ./new -- true"; do
		# shellcheck disable=SC2086
		weft coro $words
		expect_status 2
		expect_in "$err" "is the shared file itself"
		cmp shm before
	done
	cp "$WEFT_BURN" prog
	weft coro run -o new --stats ./prog -- ./prog 20
	expect_status 2
	expect_in "$err" "./prog: is the program itself"
	cmp prog "$WEFT_BURN"
	for words in "run -o new --stats ./new -- touch started" "dump -o new --stats new shm"; do
		# shellcheck disable=SC2086
		weft coro $words
		expect_status 2
		expect_in "$err" "new: is the trace, too"
		[ ! -e new ]
	done
	# before the work
	ln -s precious link
	weft coro run -o new --stats link -- touch started
	expect_status 1
	expect_in "$err" "link: a symbolic link"
	[ ! -e started ]
	precious_is_there
	weft coro run -o /dev/null --stats /dev/null -- true
	expect_status 0
}

@test "coro dump goes by the table" {
	inputs
	left_over shm
	verb=dump
	ln -s precious link
	weft coro dump --replace -o link shm
	expect_status 1
	expect_in "$err" "link: a symbolic link"
	precious_is_there
	weft coro dump -o precious shm
	expect_status 1
	precious_is_there
	weft coro dump -o new shm
	expect_status 0
	[ "$(stat -c %a new)" = 600 ]
}

@test "coroTracer goes by the table, in its words" {
	inputs
	ln -s "$WEFT" coroTracer
	ln -s precious link
	status=0
	./coroTracer -shm c.shm -sock c.sock -out link -cmd 'touch started' >stdout 2>stderr || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "link: a symbolic link, which is not followed (or"
	precious_is_there
	[ ! -e started ]
	echo "probe_id,tid,addr,seq,is_active,ts" >trace.csv
	cp trace.csv before
	status=0
	./coroTracer -export csv -in trace.csv >stdout 2>stderr || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "trace.csv: is the trace itself"
	cmp trace.csv before
}

@test "a trace that cannot have its name at the end is kept by another" {
	command -v flock >/dev/null || skip "no flock"
	echo old >out
	weft coro run --replace --to csv -o out -- \
		sh -c 'exec 9<out; flock -s 9; sleep 600 3>&- >/dev/null 2>&1 & echo $! >holder'
	kill "$(cat holder)"
	expect_status 1
	expect_in "$err" "out: another weft is writing it"
	expect_in "$err" "what was written is out."
	[ "$(cat out)" = old ]
	[ "$(head -1 out.??????)" = probe_id,tid,addr,seq,is_active,ts ]
}
