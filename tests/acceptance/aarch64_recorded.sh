#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An aarch64 program recorded by an aarch64 collector, both under qemu-user: signals, CPU
# timers, the session and the recording work there. The emulator maps a guest's code without
# the right to execute it, so that the collector finds no modules and names stay unknown.
. "$(dirname "$0")/lib.sh"
emulator=${EMULATOR:?}
have jq || skip_all "jq is not installed"

# `weft record` refuses a host's program, and qemu is one: the pieces are put together here.
record() {
	local target collector
	mkfifo "$work/go" || return 1
	# shellcheck disable=SC2086 # the emulator's words
	(
		read -r _ <"$work/go"
		export WEFT_SOCKET=$work/socket LD_PRELOAD=$BUILD/src/runtime/libweft.so
		exec $emulator "$tools/burn" 1 2
	) >"$work/out" 2>"$work/err" &
	target=$!
	# shellcheck disable=SC2086
	$emulator "$weft" collect --socket "$work/socket" --output "$work/a.jfr" --root $target -F 500 &
	collector=$!
	started=($target $collector)
	await 200 test -S "$work/socket" || return 1
	echo >"$work/go"
	wait $target || { cat "$work/out" "$work/err"; return 1; }
	wait $collector && same burnt "$(cat "$work/out")"
}

report() {
	# shellcheck disable=SC2086
	$emulator "$weft" report "$work/a.jfr" "$@"
}

balanced() {
	report --json --top 0 >"$work/json" &&
		same true "$(jq '(.counters.attempted // 0) > 50 and
			(.counters.attempted // 0) == (.counters.delivered // 0) + ([.lost[]] | add // 0)' \
			"$work/json")" || { jq .counters "$work/json"; return 1; }
}

in_context() {
	report --by span --top 0 >"$work/text" || return 1
	grep -E '^context +[0-9]+ samples with context \((9[0-9]|100)\.[0-9] %( ±[0-9.]+)?\)' "$work/text" || {
		cat "$work/text"
		return 1
	}
}

check "an aarch64 program is recorded to its end" record
check "its books balance" balanced
check "its samples have their context" in_context
finish
