#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What weft cannot do costs the recorded program nothing: no signal that ends weft before it is run,
# no file limit that ends weft without a word.

load ../cli/common
load common

# Who started the tests may ignore them.
needs_default_signals() {
	env --default-signal=PIPE,XFSZ true 2>/dev/null || skip "this env has no --default-signal"
}

# nobody_reads: descriptor 9 is a pipe that nobody will ever read.
nobody_reads() {
	mkfifo pipe
	exec 8<>pipe 9>pipe 8>&-
}

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
