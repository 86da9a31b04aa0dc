# SPDX-License-Identifier: Apache-2.0
# Programs that run while they are looked at: started, asked, ended. Loaded after common.bash.
# shellcheck shell=bash

CARRIED=()

# start NAME CMD...: runs it with its lines in the file NAME until it says "ready"; pid is set.
start() {
	local name=$1
	shift
	"$@" >"$name" 2>"$name.err" 3>&- </dev/null &
	pid=$!
	CARRIED+=("$pid")
	until_true is_ready_or_gone "$name" "$pid"
	grep -q ready "$name" || {
		echo "did not start: $*"
		cat "$name.err"
		return 1
	}
}

is_ready_or_gone() { grep -q ready "$1" || is_gone "$2"; }

# until_true CMD...: tries it, for a minute at most: how long a thing takes is no matter here.
until_true() {
	local i
	for ((i = 0; i < 3000; i++)); do
		"$@" && return
		sleep 0.02
	done
	echo "never came: $*"
	return 1
}

# ask NAME PID: how it is, the one line of its answer.
ask() {
	local before
	before=$(grep -c ^fds= "$1")
	kill -USR1 "$2"
	until_true has_answered "$1" "$before"
	grep ^fds= "$1" | tail -n 1
}

has_answered() { [ "$(grep -c ^fds= "$1")" -gt "$2" ]; }

is_gone() { expect_not kill -0 "$1" 2>/dev/null >&2; }

teardown() {
	for p in "${CARRIED[@]}"; do
		kill -KILL "$p" 2>/dev/null || true
		wait "$p" 2>/dev/null || true
	done
}
