#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo of coroutines: three small shops (C, C++20, Rust: those that are built) each lose one
# wakeup, and are asked which coroutine never came back. Takes a few seconds, listens on nothing,
# leaves its traces in BUILD/demo-coro.
#
# usage: [BUILD=build] examples/demo-coro.sh
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
weft=$build/weft
out=$build/demo-coro

say() {
	printf '\n%s\n' "$*"
}

run() { # shows a command, then runs it
	say "\$ $*"
	"$@"
}

[ -x "$weft" ] && [ -x "$build/examples/coro/stuck-c" ] || {
	echo "demo-coro: $build/examples/coro/stuck-c is not built: run make first" >&2
	exit 1
}
mkdir -p "$out"

for language in c cpp rust; do
	program=$build/examples/coro/stuck-$language
	[ -x "$program" ] || continue
	run "$weft" coro run --extended --replace -o "$out/$language.jsonl" -- "$program" --lose
	say "One of 60 never came back. Which, where, and what was it for?"
	run "$weft" coro report --stuck 500ms "$out/$language.jsonl"
done

say "The same program in a recording: whose CPU time was it, and who waited?"
run "$weft" record -o "$out/c.jfr" -- "$build/examples/coro/stuck-c" --lose 500
run "$weft" report --by label:route "$out/c.jfr"

say "On a timeline, a track for each thread and one for the longest wait:"
cat <<END
  $weft coro export --to perfetto -o stuck.pftrace $out/c.jsonl   (ui.perfetto.dev)
END
