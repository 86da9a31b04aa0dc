#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What weft cannot do costs the recorded program nothing: no signal that ends weft before it is run,
# no file limit that ends weft without a word, and of WEFT_RECORD one line at most.

load ../cli/common
load common

# Who started the tests may ignore them.
needs_default_signals() {
	env --default-signal=PIPE,XFSZ true 2>/dev/null || skip "this env has no --default-signal"
}

LINE='weft: WEFT_RECORD: nothing is recorded: '

# nobody_reads: descriptor 9 is a pipe that nobody will ever read.
nobody_reads() {
	mkfifo pipe
	exec 8<>pipe 9>pipe 8>&-
}

# recorded CMD...: by itself; out, err, status.
recorded() {
	status=0
	LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_COMMAND="${command-$WEFT}" \
		WEFT_RECORD="${file-$place/a.jfr}" "$@" >stdout 2>stderr </dev/null || status=$?
	out=$(cat stdout) err=$(cat stderr)
}

# nobody_collects FILE: or soon nobody does.
nobody_collects() {
	local i
	for ((i = 0; i < 600; i++)); do
		pgrep -f "weft collect .* -o $1 " >/dev/null || return 0
		sleep 0.1
	done
	echo "still collects: $1"
	return 1
}

# Children of the shell, which would tell it again.
THREE='/bin/true; /bin/true; echo "$WEFT_RECORD"; exit 7'

@test "a warning that nobody reads: CMD is run, and recorded" {
	needs_default_signals
	nobody_reads
	status=0
	env --default-signal=PIPE "$WEFT" record --clock ticks -F 20000 -o a.jfr -- sh -c 'touch begun; exit 7' 2>&9 || status=$?
	expect_status 7
	[ -e begun ]
	[ -s a.jfr ]
	# and CMD's own SIGPIPE is as it was
	status=0
	env --default-signal=PIPE "$WEFT" record -o a.jfr -- sh -c 'kill -PIPE $$' 2>&9 || status=$?
	expect_status 141
	status=0
	(trap '' PIPE; exec "$WEFT" record -o a.jfr -- sh -c 'kill -PIPE $$') 2>&9 || status=$?
	expect_status 0
}

@test "a limit of files' sizes is an error that is told, and CMD's own signal" {
	needs_default_signals
	status=0
	(ulimit -f 8; exec env --default-signal=XFSZ "$WEFT" record -o a.jfr -- touch begun) 2>stderr || status=$?
	expect_status 1
	expect_in "$(cat stderr)" "a.jfr: File too large"
	expect_not [ -e begun ]
	status=0
	(ulimit -f 1; exec env --default-signal=XFSZ "$WEFT" man) >page 2>stderr || status=$?
	expect_status 1
	expect_in "$(cat stderr)" "standard output: File too large"
	status=0
	(ulimit -f 64; exec env --default-signal=XFSZ "$WEFT" record -o b.jfr -- head -c 200000 /dev/zero) >page 2>stderr || status=$?
	expect_status 153
	expect_in "$(cat stderr)" "b.jfr"
}

@test "no command: one line, once" {
	command=$place/nowhere recorded sh -c "$THREE"
	expect_status 7
	[ "$out" = "" ]
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "$LINE$place/nowhere: No such file or directory"
	expect_in "$err" "weft doctor"
}

@test "a command that cannot be run: one line" {
	printf 'no program' >broken
	chmod 755 broken
	command=$place/broken recorded sh -c "$THREE"
	expect_status 7
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "$LINE$place/broken: Exec format error"
}

@test "a wrong WEFT_DIR: one line, and doctor says the same" {
	WEFT_DIR=$place/nowhere recorded sh -c "$THREE"
	expect_status 7
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "${LINE}WEFT_DIR=$place/nowhere: No such file or directory"
	WEFT_DIR=$place/nowhere/below weft doctor --json
	[ "$(jq -r .checks.launch.state stdout)" = limited ]
	expect_in "$(jq -r .checks.launch.value stdout)" "${LINE}WEFT_DIR=$place/nowhere/below: No such file or directory"
}

@test "a collector that ends without a word: one line" {
	command=/bin/true recorded sh -c "$THREE"
	expect_status 7
	[ "$out" = "" ]
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "${LINE}the collector ended at once"
	printf '#!/bin/sh\nkill -KILL $$\n' >killed
	chmod 755 killed
	command=$place/killed recorded sh -c "$THREE"
	expect_status 7
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "${LINE}the collector ended at once"
}

@test "a collector that ends between its socket and its file: no child begins another" {
	cat >fleeting <<-'END'
		#!/usr/bin/env python3
		import os, socket, sys
		open('begun', 'a').write('once\n')
		path = sys.argv[sys.argv.index('--socket') + 1]
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.bind(path + '.new')
		s.listen(9)
		os.rename(path + '.new', path)
		s.accept()[0].close()
		os.unlink(path)
		os.rmdir(os.path.dirname(path))
	END
	chmod 755 fleeting
	command=$place/fleeting recorded sh -c "$THREE"
	expect_status 7
	[ "$out" = "" ]
	[ "$(cat begun)" = once ]
}

@test "a command that never ends: doctor does" {
	printf '#!/bin/sh\necho $$ >%s/never.pid\nexec sleep 600 2>&-\n' "$place" >never
	chmod 755 never
	WEFT_COMMAND=$place/never timeout 120 "$WEFT" doctor --json >stdout
	kill "$(cat never.pid)"
	expect_in "$(jq -r .checks.launch.value stdout)" "${LINE}the collector does not begin"
}

@test "wrong WEFT_SETTINGS: warnings beside the recording, or the reason" {
	WEFT_SETTINGS='weft.Span#nosuch=1' recorded sh -c 'exit 7'
	expect_status 7
	expect_in "$err" "weft collect: warning: no such setting: weft.Span#nosuch"
	[ -s a.jfr ]
	WEFT_SETTINGS='weft.Span#nosuch=1' weft doctor --json
	[ "$(jq -r .checks.launch.state stdout)" = ok ]
	WEFT_SETTINGS=nosuch recorded sh -c "$THREE"
	expect_status 7
	[ "$out" = "" ]
	expect_in "$err" "weft collect: WEFT_SETTINGS: "
	[ "$(grep -c '^weft' stderr)" = 1 ]
}

@test "no file: one line" {
	file=$place/nowhere/a.jfr recorded sh -c "$THREE"
	expect_status 7
	[ "$out" = "" ]
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$err" "$place/nowhere/a.jfr: No such file or directory"
}

@test "/tmp that is read-only: one line, and doctor says the same" {
	[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "no mount namespace may be made"
	cat >inside <<-'END'
		mount -t tmpfs -o ro none /tmp || exit 99
		unset XDG_RUNTIME_DIR
		LD_PRELOAD=$1 WEFT_COMMAND=$2 WEFT_RECORD=$PWD/a.jfr sh -c "$3" >stdout 2>stderr
		echo $? >status
		"$2" doctor --json >json 2>/dev/null
	END
	unshare -m sh ./inside "$WEFT_BUILD/src/runtime/libweft.so" "$WEFT" "$THREE" || [ -e json ] ||
		skip "no file system may be mounted"
	[ "$(cat status)" = 7 ]
	[ "$(wc -l <stderr)" = 1 ]
	expect_in "$(cat stderr)" "$LINE/tmp: Read-only file system"
	expect_in "$(jq -r .checks.launch.value json)" "$LINE/tmp: Read-only file system"
}

@test "WEFT_QUIET: no line, whatever goes wrong" {
	export WEFT_QUIET=1
	command=$place/nowhere recorded sh -c "$THREE"
	expect_status 7
	[ "$err" = "" ]
	WEFT_DIR=$place/nowhere recorded sh -c "$THREE"
	[ "$err" = "" ]
	file=$place/nowhere/a.jfr recorded sh -c "$THREE"
	expect_status 7
	[ "$err" = "" ]
	WEFT_QUIET= command=$place/nowhere recorded sh -c "$THREE"
	[ "$(wc -l <stderr)" = 1 ]
}

@test "the line ends no program, and holds none up" {
	nobody_reads
	status=0
	LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_COMMAND=$place/nowhere WEFT_RECORD=a.jfr \
		sh -c 'exit 7' 2>&9 || status=$?
	expect_status 7
	# a pipe that is full, and stays so
	mkfifo full
	exec 7<>full
	timeout 1 cat /dev/zero >&7 || true
	status=0
	LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_COMMAND=$place/nowhere WEFT_RECORD=a.jfr \
		timeout 60 sh -c 'exit 7' 2>&7 || status=$?
	expect_status 7
	# the collector's own line holds the collector up as little
	status=0
	LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_COMMAND=$WEFT WEFT_RECORD=$place/nowhere/a.jfr \
		timeout 60 sh -c 'exit 7' 2>&7 || status=$?
	expect_status 7
	nobody_collects "$place/nowhere/a.jfr"
	# no stderr at all
	status=0
	LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_COMMAND=$place/nowhere WEFT_RECORD=a.jfr \
		sh -c 'exit 7' 2>&- || status=$?
	expect_status 7
}

@test "where all is well, doctor says so, and no line comes" {
	recorded sh -c 'exit 7'
	expect_status 7
	[ "$err" = "" ]
	[ -s a.jfr ]
	weft doctor --json
	[ "$(jq -r .checks.launch.state stdout)" = ok ]
}
