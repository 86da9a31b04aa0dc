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
until_told() { echo "touch $1.runs; until [ -e $1.ends ]; do $WEFT_BURN 20 >/dev/null; done"; }

@test "of two recordings with one name the second is refused, the first is whole" {
	for name in weft.jfr named; do
		local option=()
		[ $name = weft.jfr ] || option=(-o $name)
		"$WEFT" record "${option[@]}" -- sh -c "$(until_told $name)" >first.out 2>first.err &
		local pid=$!
		until [ -e $name.runs ]; do sleep 0.01; done
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

@test "a recording has its name at once, and is there after SIGKILL" {
	echo old >a.jfr
	"$WEFT" record --chunk-time 5ms -o a.jfr -- sh -c "$(until_told a)" >first.out 2>first.err &
	local pid=$!
	until [ -e a.runs ]; do sleep 0.01; done
	until [ "$("$WEFT" report --json a.jfr 2>/dev/null | jq .samples)" -gt 0 ] 2>/dev/null; do sleep 0.01; done
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

@test "a pipe without a reader: the wait for one ends by a signal, before the program begins" {
	mkfifo pipe
	for signal in TERM INT HUP; do
		env --default-signal=$signal "$WEFT" record -o pipe -- touch started 2>stderr &
		local pid=$!
		# it holds signals back from the moment on at which it waits for them
		until [ "$(grep -cE '^Name:.*weft|^SigBlk:.*[1-9a-f]' /proc/$pid/status)" = 2 ]; do sleep 0.01; done
		kill -$signal $pid
		status=0
		wait $pid || status=$?
		[ "$status" = 1 ]
		expect_in "$(cat stderr)" "pipe: Interrupted"
	done
	[ ! -e started ]
}

@test "a recording by oneself harms neither the program nor waits for a pipe" {
	lib=$WEFT_BUILD/src/runtime/libweft.so
	[ -e "$lib" ] || skip "no $lib"
	cp "$WEFT_BURN" prog
	cp prog before
	for name in ./prog -; do
		WEFT_COMMAND=$WEFT WEFT_RECORD=$name LD_PRELOAD=$lib ./prog 20 2>stderr
		cmp prog before
		[ ! -e ./- ]
	done
	expect_in "$(cat stderr)" "standard output is the program's"
	mkfifo pipe
	WEFT_COMMAND=$WEFT WEFT_RECORD=pipe LD_PRELOAD=$lib ./prog 20 2>stderr
	expect_in "$(cat stderr)" "pipe: a pipe that nobody reads"
}
