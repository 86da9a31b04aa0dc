#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft inspect of processes whose memory is full of lies that change while they are read, and
# of processes that are killed in the middle of it: it ends, with 0 or 1, what it prints is JSON,
# and of a process that does not lie nothing is shown that was never so.
#
#   WEFT_LIARS=12 WEFT_KILLED=6 WEFT_SEED=1: how many of each, from which seed
. "$(dirname "$0")/lib.sh"
liars=${WEFT_LIARS:-12}
killed=${WEFT_KILLED:-6}
seed=${WEFT_SEED:-1}
RANDOM=$seed
have python3 || skip_all "python3 is not installed"
shown=0
labels=0

begin() { # OUTPUT COMMAND...
	: >"$1"
	"${@:2}" >"$1" 2>/dev/null &
	pid=$!
	started=("$pid")
	await 100 grep -q . "$1"
}

end() {
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

judge() {
	python3 "$(dirname "$0")/inspect/own_labels.py" "$1"
}

# What judges can say no: labels of two threads, half a value.
says_no() {
	local bad
	for bad in '"b0": "1.1.xxxxxxx", "b1": "2.1.xxxxxxx"' '"b0": "1.1.xxx"' '"b0": "1.1.xxxxxxx", "b1": "1.0."'; do
		! judge own <<<"{\"threads\": [{\"contexts\": [{\"abi\": \"weft\", \"span_id\": null,
			\"root_span_id\": null, \"attributes\": {$bad}}]}]}" || return 1
	done
}

# Exit 0 with JSON, or 1 with a message: nothing else.
looked_at() { # OPTION...
	local status
	timeout -k 5 20 "$weft" inspect --json "$@" "$pid" >"$work/json" 2>"$work/err"
	status=$?
	case $status in
	0) judge "${check_as:-any}" <"$work/json" >"$work/found" && labels=$((labels + $(cat "$work/found"))) ;;
	1) grep -q '^weft inspect: ' "$work/err" ;;
	*) false ;;
	esac || {
		echo "seed $seed, $* (status $status)"
		head -c 2000 "$work/found" "$work/json" "$work/err"
		return 1
	}
	[ "$status" != 0 ] || shown=$((shown + 1))
}

all_liars() {
	local i
	for ((i = 0; i < liars; i++)); do
		begin "$work/ready" "$tools/liar" $((seed + i)) || return 1
		looked_at && looked_at --stop && looked_at || return 1
		kill -0 "$pid" || return 1
		end
	done
	echo "$shown of $((3 * liars)) looks were shown"
	at_least 1 "$shown"
}

# A storm of threads that come, set labels, fork and go: what is seen is one thread's own.
storm() {
	WEFT_PUBLISH=v1,labels,otel LD_PRELOAD=$BUILD/src/customlabels/libcustomlabels-weft.so \
		exec "$BUILD/tests/stress/labels/label-storm" -t 4 -l 100000 -r 400 -f 0 --talk
}

all_killed() {
	local i killer
	check_as=own
	for ((i = 0; i < killed; i++)); do
		begin "$work/ready" storm || return 1
		looked_at || return 1
		(
			sleep "0.0$(printf '%02d' $((RANDOM % 100)))"
			kill -9 "$pid"
		) 2>/dev/null &
		killer=$!
		while kill -0 "$killer" 2>/dev/null; do
			looked_at || return 1
		done
		wait "$killer" "$pid"
	done
	at_least "$killed" "$shown" && at_least "$killed" "$labels"
}

gone() {
	timeout 20 "$weft" inspect --json "$pid" >"$work/json" 2>"$work/err"
	same 1 $? && grep -q '^weft inspect: ' "$work/err"
}

check "$liars processes that lie: each look ends well" all_liars
show "$work/check.out" 3
shown=0 labels=0
check "a judge that says no" says_no
check "$killed processes killed at random moments: what is shown was so" all_killed
note "$shown looks were shown, $labels labels of whole contexts"
check "and of the last one it is said that it is gone" gone
finish
