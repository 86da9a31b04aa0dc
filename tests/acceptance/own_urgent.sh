#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that uses SIGURG itself, beside the hrtimers that send it to its threads: data out of
# band, descriptors that tell by it, signals that it sends, threads that wait for it. It sees all
# of its own and none of weft's, while it is sampled.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

own=$tools/own-urgent

run() { # NAME COMMAND...
	local name=$1
	shift
	bounded "$@" >"$work/$name" 2>"$work/$name.err" </dev/null || {
		echo "status $?"
		cat "$work/$name" "$work/$name.err"
		return 1
	}
}

# Alone it sees all that it sends.
all_is_seen() {
	! grep ': sent\|: taken' "$work/plain" | grep -v 'sent 100, seen 100, right 100$\|taken 100, right 100, handled 0$'
}

the_same() { # PARTS OPTION...
	local parts=$1
	shift
	run plain "$own" "$parts" && all_is_seen && run recorded "$weft" record -F 1000 "$@" -o "$work/own.jfr" -- \
		"$own" "$parts" && diff "$work/plain" "$work/recorded"
}

# weft's descriptors have no higher numbers than the program's.
with_few() {
	(ulimit -n 60 && "$@")
}

samples_of() { # FUNCTION
	"$tools/list-samples" "$work/own.jfr" | grep -c "$1"
}

clock() {
	"$weft" report "$work/own.jfr" --json --top 0 | jq -r '.clocks[0] | "\(.clock) \(.reason // "")"'
}

for part in out-of-band telling-descriptors to-itself to-another to-a-thread waiting; do
	check "$part: the same, recorded and not" the_same "$part"
	case $part in # the others are brief
	to-another | to-a-thread | waiting)
		check "... and it is sampled" at_least 1 "$(samples_of burn_)" ;;
	esac
done
case $(clock) in
hrtimer | "ticks the program uses SIGURG itself") ;;
*) note "no hrtimers here: $(clock)" ;;
esac
# Ignored as it is without weft: ours stands aside, and ticks go on where hrtimers end.
is_sent_one() {
	"$weft" record -o "$work/own.jfr" -- "$tools/burn" 1.5 2 >/dev/null 2>&1 &
	local weft_pid=$! burn
	started+=("$weft_pid")
	await 300 pgrep -P $weft_pid -x burn && burn=$(pgrep -P $weft_pid -x burn) &&
		await 300 has_used "$burn" 50 && kill -URG "$burn"
	wait $weft_pid || return 1
	"$weft" report "$work/own.jfr" --json --top 0 | jq -c '.clocks, .account | del(.largest_gaps?)' >"$work/one"
	cat "$work/one"
	[ "$(clock)" = "ticks the program uses SIGURG itself" ] &&
		jq -se '.[1] | .seen_ns > 0.7 * .used_ns and .seen_ns < 1.3 * .used_ns' "$work/one" >/dev/null
}
case $(clock) in
ticks\ perf* | "ticks the kernel"*) ;;
*) check "a SIGURG that the program ignores: ticks go on" is_sent_one ;;
esac
check "descriptors of low numbers alone: the same" with_few the_same telling-descriptors
finish
