#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A collector that is stopped (SIGSTOP, a debugger, a frozen container) costs a whole tree of programs
# one long wait: each says how long it was ready to wait, and these are counted. When the collector
# goes on, so does the recording of what is begun from then on.
. "$(dirname "$0")/../../acceptance/lib.sh"
deaf=$BUILD/tests/hostile/rendezvous/deaf
lib=$BUILD/src/runtime/libweft.so
export TREES_LOG=$work/log TREES_MS=100
trees=$tools/trees
nothing=$(command -v env) || skip_all "no program to begin"

# waits LONG SHORT COMMAND...: under a collector that never answers.
waits() {
	local long=$1 short=$2
	shift 2
	bounded "$deaf" "$lib" "$@" >"$work/waits" || return 1
	sort -n "$work/waits" | uniq -c
	same "$long $short" \
		"$(grep -c '^1000$' "$work/waits") $(grep -c '^50$' "$work/waits")" &&
		same "$((long + short))" "$(wc -l <"$work/waits")"
}

twenty='i=0; while [ $i -lt 20 ]; do "$0" >/dev/null; i=$((i + 1)); done'
check "a tree of 21 programs, one after the other: one waits long" \
	waits 1 20 sh -c "$twenty" "$nothing"
cat >"$work/nest" <<-'END'
	[ "$1" -eq 0 ] || sh "$0" $(($1 - 1))
	exit $?
END
check "... also where each begins the next" waits 1 4 sh "$work/nest" 4

# A stop and a continue interrupt a program that waits for the answer: it must not wait anew.
has_ended_nudged() { # PID of whom has begun it
	local child
	for child in $(cat "/proc/$1/task/$1/children"); do
		kill -STOP "$child" && kill -CONT "$child"
	done
	[ ! -d "/proc/$1" ]
}

nudged() {
	"$deaf" "$lib" "$nothing" >"$work/waits" &
	local waiting=$!
	started+=("$waiting")
	await 600 has_ended_nudged "$waiting" && wait "$waiting" && grep -v nothing "$work/waits"
}
check "... and one that is stopped and continued again and again waits no longer" nudged

is_silent() { # SOCKET
	[ -S "$1" ] && ! stat -c %y "$1" | grep -q '\.000000000 '
}
is_heard() {
	! is_silent "$1"
}

cat >"$work/tree" <<-'END'
	echo "$WEFT_SOCKET" >"$1/socket.new"
	mv "$1/socket.new" "$1/socket"
	while [ -d "$1" ] && [ ! -e "$1/go" ]; do sleep 0.1; done
	i=0
	while [ $i -lt 20 ]; do "$3" >/dev/null; i=$((i + 1)); done
	: >"$1/done"
	while [ -d "$1" ] && [ ! -e "$1/again" ]; do sleep 0.1; done
	"$2" leaf 1
	"$2" leaf 2
	exec "$2" leaf 3
END

stop() {
	"$weft" record -o "$work/stopped.jfr" -- sh "$work/tree" "$work" "$trees" "$nothing" \
		>"$work/out" 2>"$work/err" &
	recorder=$!
	started+=("$recorder")
	await 600 test -e "$work/socket" || return 1
	socket=$(cat "$work/socket")
	is_heard "$socket" || return 1
	kill -STOP "$recorder"
	: >"$work/go"
	await 2400 test -e "$work/done"
}

go_on() {
	kill -CONT "$recorder" && await 600 is_heard "$socket"
}

ends() {
	: >"$work/again"
	wait "$recorder" || {
		cat "$work/err"
		return 1
	}
	same 3 "$(wc -l <"$work/log")"
}

recorded_again() {
	"$tools/list-samples" "$work/stopped.jfr" | grep -o 'burn_in_child_[0-9]' | sort -u \
		>"$work/burners"
	same "burn_in_child_1 burn_in_child_2 burn_in_child_3" "$(paste -sd' ' "$work/burners")"
}

if check "20 programs begin and end while the collector is stopped" stop; then
	check "... the socket's file says that nobody answers" is_silent "$socket"
	check "... and, when the collector goes on, that it does" go_on
	check "... the program ends as ever" ends
	check "... what it began from then on is in the recording" recorded_again
fi
finish
