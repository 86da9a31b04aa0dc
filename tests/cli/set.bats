#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft set: what it refuses, whom it asks, and what it says. That it works is seen in
# tests/acceptance/typed_events.sh.

load common
load carry

@test "what is no setting is refused before anybody is asked" {
	for words in "x a.B#enabled=true" "1 a.B" "1 a.B#enabled=perhaps" "1 a.B#nothing=1" "1" ""; do
		# shellcheck disable=SC2086
		weft set $words
		expect_status 2
	done
}

@test "programs that nobody records" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" rest
	weft set "$pid" 'a.B#enabled=true'
	expect_status 1
	expect_in "$err" "nobody records it (idle)"
	start two "$WEFT_CARRY" rest
	weft set "$pid" 'a.B#enabled=true'
	expect_status 1
	expect_in "$err" "it does not carry weft"
	kill -KILL "$pid"
	wait "$pid" || true
	weft set "$pid" 'a.B#enabled=true'
	expect_status 1
}

@test "a recorded program: what changes, what cannot, and as JSON" {
	start one env LD_PRELOAD="$WEFT_SO" "$WEFT_CARRY" rest
	program=$pid
	start_record -p "$program"
	weft set "$program" 'jdk.ExecutionSample#select=if-context'
	expect_status 0
	expect_in "$out" jdk.ExecutionSample
	weft set --all --json "$program" 'jdk.ExecutionSample#select=all' 'jdk.CPULoad#period=2 s'
	expect_status 0
	[ "$(jq -r '.types | join(" ")' stdout)" = "jdk.ExecutionSample jdk.CPULoad" ]
	[ "$(jq .changed stdout)" = 2 ]
	weft set "$program" 'no.Such#enabled=true'
	expect_status 0
	expect_in "$out" "no event type known by now has changed"
	weft set "$program" 'jdk.ExecutionSample#period=1 ms'
	expect_status 1
	expect_in "$err" "cannot change while they are taken"
	kill -INT "$recorder"
	wait "$recorder"
	weft set "$program" 'a.B#enabled=true'
	expect_status 1
}

start_record() {
	"$WEFT" record -o set.jfr "$@" >record.out 2>record.err 3>&- </dev/null &
	recorder=$!
	CARRIED+=("$recorder")
	until_true is_recorded
}

is_recorded() { "$WEFT" ps --json | jq -e --argjson pid "$program" '.programs[] | select(.pid == $pid and .state == "recorded")' >/dev/null; }
