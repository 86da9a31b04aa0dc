#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Either side is killed at a random moment: the other lives, no line comes twice, the books
# balance. WEFT_CYCLES: how often.

load common

number() { sed "s/.*\"$1\":\([0-9]*\)[,}].*/\1/" "${2:-stats}"; }

# Of all runs of weft together.
expect_lines() {
	sed 's/^{"probe_id":\([0-9]*\),"tid":[0-9]*,"addr":"0x[0-9a-f]\{16\}","seq":\([0-9]*\),"is_active":[a-z]*,"ts":\([0-9]*\)}$/\1 \2 \3/' trace.jsonl |
		awk 'NF != 3 { print "no line: " $0; bad = 1 } $3 < last[$1] { print "back: " $0; bad = 1 }
			seen[$1 " " $2]++ { print "twice: " $0; bad = 1 } { last[$1] = $3 } END { exit bad }'
	[ "$(number written)" = $(($(number harvested) + $(number lost) + $(number pending))) ]
	[ "$(wc -l <trace.jsonl)" = "$(number harvested)" ] ||
		{ echo "$(wc -l <trace.jsonl) lines"; cat stats; return 1; }
}

child_of() { cat "/proc/$1/task/$1/children"; }

# start: an engine and its program; sets engine, target
start() {
	rm -f trace.jsonl stats shm* stdout
	"$WEFT" coro run --shm shm -n 50 -o trace.jsonl --stats stats -- "$WEFT_COROUTINES" endless 5 >stdout 2>stderr &
	engine=$!
	until [ -s stdout ] && [ -s trace.jsonl ]; do sleep 0.01; done
	read -r target < <(child_of $engine) || [ "$target" ]
}

# A while of a length that nobody knows
random_while() { sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"; }

@test "the program is killed" {
	for ((i = 0; i < ${WEFT_CYCLES:-20} / 2; i++)); do
		start
		random_while
		kill -KILL "$target"
		status=0
		wait $engine || status=$?
		[ "$status" = 137 ]
		expect_lines
		[ "$(number pending)" = 0 ]
		[ "$(number dead)" = 5 ]
	done
}

@test "the engine is killed, another one goes on" {
	for ((i = 0; i < ${WEFT_CYCLES:-20} / 2; i++)); do
		start
		random_while
		kill -KILL $engine
		wait $engine || true
		kill -0 "$target"
		"$WEFT" coro run --attach shm -o trace.jsonl --stats stats 2>stderr &
		engine=$!
		random_while
		kill -KILL "$target"
		wait $engine
		expect_lines
		[ "$(number pending)" = 0 ]
		[ ! -e shm ]
	done
}
