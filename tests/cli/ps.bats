#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft ps: who carries the runtime, how it came there, and who records it.

load common
load carry

# value PID KEY: what the JSON says of a program
value() { jq -r --argjson pid "$1" ".programs[] | select(.pid == \$pid) | .$2" stdout; }

# says PID KEY VALUE
says() {
	[ "$(value "$1" "$2")" = "$3" ] || {
		echo "$2 of $1: '$(value "$1" "$2")', expected '$3'"
		cat stdout
		return 1
	}
}

@test "how the runtime came into a program" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" rest
	preloaded=$pid
	start two "$WEFT_CARRY_SO" rest
	linked=$pid
	start three "$WEFT_CARRY_A" rest
	static=$pid
	start four env CARRY_LIBRARY="$WEFT_SO" "$WEFT_CARRY" rest
	loaded=$pid
	start five "$WEFT_CARRY" rest
	without=$pid
	weft ps --json
	expect_status 0
	says "$preloaded" by preloaded
	says "$linked" by linked
	says "$static" by libweft.a
	says "$loaded" by loaded
	[ "$(value "$without" pid)" = "" ]
	for p in "$preloaded" "$linked" "$static" "$loaded"; do
		says "$p" state idle
		says "$p" other_pid null
		says "$p" threads 2
		says "$p" version 0.1.0
	done
	says "$linked" command "$WEFT_CARRY_SO rest"
}

@test "a table for people: a line of titles, then programs by their pid" {
	start one "$WEFT_CARRY_SO" rest
	first=$pid
	start two "$WEFT_CARRY_SO" rest
	weft ps
	expect_status 0
	expect_in "$(head -n 1 stdout)" "PID STATE"
	expect_in "$out" "$first idle "
	expect_in "$out" "$pid idle "
	sed 1d stdout | awk '{ print $1 }' >pids
	sort -n pids | cmp - pids
}

@test "a program that is recorded names its recorder, and is over when that is" {
	start one "$WEFT" record -o file.jfr --duration 1h -- "$WEFT_CARRY" rest
	recorder=$pid
	target=$(pgrep -P "$recorder")
	CARRIED+=("$target")
	weft ps --json
	says "$target" state recorded
	says "$target" other_pid "$recorder"
	# whoever records has sessions of others open, and carries nothing itself
	[ "$(value "$recorder" pid)" = "" ]
	weft ps
	expect_in "$out" "$target recorded by $recorder"
	kill -KILL "$recorder"
	wait "$recorder" || true
	weft ps --json
	says "$target" state left
}

@test "a forked child that has no session of its own is told as such" {
	start one "$WEFT_CARRY_SO" rest
	kill -USR2 "$pid"
	until_true grep -q ^child= one
	child=$(sed -n 's/^child=//p' one)
	weft ps --json
	says "$child" state forked
	says "$child" other_pid "$pid"
}

@test "processes of others are counted, not guessed at" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	command -v setpriv >/dev/null || skip "no setpriv"
	start one "$WEFT_CARRY_SO" rest
	chmod 755 "$BATS_TEST_TMPDIR"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFT" ps --json >other 2>&1 ||
		skip "the command cannot be run by others"
	[ "$(jq .hidden other)" -gt 0 ]
	[ "$(jq --argjson pid "$pid" '[.programs[] | select(.pid == $pid)] | length' other)" = 0 ]
}

@test "wrong usage" {
	weft ps now
	expect_status 2
	weft ps --yaml
	expect_status 2
}
