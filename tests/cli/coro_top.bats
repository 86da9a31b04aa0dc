#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft coro top: once for scripts; and on a terminal of 80x24, driven key by key.

load common
load carry

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

# Built without ncurses there is no screen to drive.
setup_file() { export NCURSES; NCURSES=$(ldd "$WEFT" | grep -c ncurses || true); }

needs_screen() { [ "$NCURSES" != 0 ] || skip "weft was built without ncurses"; }

drive() { /usr/bin/python3 "$WEFT_SOURCE/tests/cli/coro_top.py" "$WEFT" "$@"; }

@test "once, as text and as JSON" {
	lose
	weft coro top --once --interval 50ms --stuck 1ms --long-run 1ms file
	expect_status 0
	expect_in "$out" "24 live: 1 running, 1 suspended, 21 ready, 1 created"
	expect_in "$out" "S 1 stuck, N 1 never resumed (1.000 ms); Y 1 not yielding, W 21 woken only"
	weft coro top --json --interval 50ms --stuck 1ms --lints --filter wait_for_reply file
	expect_status 0
	is '.coroutines | map([.probe_id, .lints, .where])' '[[7,["stuck"],"wait_for_reply"]]'
	is '[.live, .switches_per_s]' '[24,0]'
	weft coro top --json --interval 50ms --sort run --top 1 file
	is '.coroutines | map([.probe_id, .state, .run_ns > 0])' '[[10,"running",true]]'
}

@test "without a terminal it says so" {
	lose
	weft coro top file
	expect_status 1
	expect_in "$err" "no terminal to show it on; --once or --json print"
	[ ! -s stdout ]
}

@test "keys: filter, lints, sort, scrolling, and the end" {
	needs_screen
	lose
	drive keys file
}

@test "no line is wider than the terminal" {
	lose
	drive width file
}

@test "whatever ends it, the terminal is as it was" {
	needs_screen
	lose
	drive end-term file
	drive end-kill file
	drive end-interrupt file
}
