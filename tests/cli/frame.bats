#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The frame of the command: help, version, unknown things, messages and statuses.

load common

@test "weft alone is a usage error that shows the verbs" {
	weft
	expect_status 2
	[ -z "$out" ]
	expect_in "$err" "Verbs:"
}

@test "--help shows every verb, on stdout" {
	weft --help
	expect_status 0
	[ -z "$err" ]
	expect_in "$out" "doctor"
	weft -h
	expect_status 0
}

@test "--version, -V and version say the same" {
	weft --version
	expect_status 0
	[[ $out =~ ^weft\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	first=$out
	weft -V
	[ "$out" = "$first" ]
	weft version
	[ "$out" = "$first" ]
}

@test "every verb has a --help with a usage line, and help VERB is the same" {
	[ -n "$(verbs)" ]
	local words
	while read -r -a words; do
		weft "${words[@]}" --help
		expect_status 0
		expect_in "$out" "Usage: weft ${words[*]}"
		first=$out
		weft help "${words[@]}"
		[ "$out" = "$first" ]
	done < <(verbs)
}

@test "a group's verbs are listed, found, and refused by both words" {
	weft coro
	expect_status 2
	[ -z "$out" ]
	expect_in "$err" "coro run"
	weft coro --help
	expect_status 0
	expect_in "$out" "coro run"
	first=$out
	weft help coro
	[ "$out" = "$first" ]
	weft coro rnu
	expect_status 2
	expect_in "$err" "weft: unknown verb 'coro rnu'; did you mean 'coro run'?"
	weft help coro xyzzyxyzzy
	expect_status 2
	expect_in "$err" "unknown verb 'coro xyzzyxyzzy'"
}

@test "an unknown verb is refused, with the nearest one" {
	weft dcotor
	expect_status 2
	expect_in "$err" "weft: unknown verb 'dcotor'; did you mean 'doctor'?"
	weft help dcotor
	expect_status 2
	expect_in "$err" "did you mean 'doctor'?"
	weft xyzzy
	expect_status 2
	expect_in "$err" "weft: unknown verb 'xyzzy'"
	[[ $err != *"did you mean"* ]]
}

@test "an unknown option is refused by every verb" {
	local words
	while read -r -a words; do
		weft "${words[@]}" --no-such-thing
		expect_status 2
		expect_in "$err" "weft ${words[*]}: unknown option '--no-such-thing'"
		weft "${words[@]}" -Z
		expect_status 2
		expect_in "$err" "weft ${words[*]}: unknown option '-Z'"
	done < <(verbs)
	weft --no-such-thing
	expect_status 2
	expect_in "$err" "unknown option '--no-such-thing'"
}

@test "a misspelt option names the nearest" {
	weft doctor --jsno
	expect_status 2
	expect_in "$err" "did you mean '--json'?"
}

@test "an operand too many is named" {
	weft version 1
	expect_status 2
	expect_in "$err" "unexpected operand '1'"
}

@test "an output that cannot be written is a failure" {
	[ -w /dev/full ] || skip "no /dev/full"
	status=0
	"$WEFT" --help >/dev/full 2>stderr || status=$?
	[ "$status" = 1 ]
	expect_in "$(cat stderr)" "weft: standard output: No space left on device"
}

@test "no colours but on a terminal" {
	TERM=xterm weft doctor
	[[ $out != *$'\033'* ]]
}

@test "NO_COLOR and TERM=dumb take colours away on a terminal" {
	script -qec true /dev/null >/dev/null </dev/null || skip "no pseudo-terminal"
	TERM=xterm script -qec "$WEFT doctor" /dev/null >with </dev/null || true
	grep -q $'\033\[32m' with
	NO_COLOR=1 TERM=xterm script -qec "$WEFT doctor" /dev/null >without </dev/null || true
	grep -q 'CPU timers' without
	expect_not grep -q $'\033' without
	TERM=dumb script -qec "$WEFT doctor" /dev/null >dumb </dev/null || true
	expect_not grep -q $'\033' dumb
}
