#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Books that balance whatever the program does, and however the recording ends:
#   attempted = delivered + lost + pending
#
#   WEFT_UPSET=0.15    CPU seconds of a thread
. "$(dirname "$0")/../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
upset=$BUILD/tests/stress/upset
time=${WEFT_UPSET:-0.15}

balanced() { # FILE [LEAST]: of so many samples
	"$weft" report "$1" --json --top 1 >"$work/json" || return 1
	jq -e ".books | .balanced and .attempted == .delivered + .lost + .pending and
		.attempted >= ${2:-1}" "$work/json" >"$work/verdict" || {
		jq -c '.books, .lost' "$work/json"
		return 1
	}
}

recorded() { # OPTION... -- COMMAND...
	bounded "$weft" record -o "$work/u.jfr" "$@" >"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	balanced "$work/u.jfr"
}

nested() {
	recorded -- "$weft" record -F 500 -o "$work/inner.jfr" -- "$upset" burn "$time" 3 &&
		balanced "$work/inner.jfr"
}

child_of() {
	awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null
}

begin() { # OPTION... -- COMMAND...: in the background; sets weft_pid and target
	"$weft" record -F 10000 --ring 32K --chunk-time 100ms -o "$work/u.jfr" "$@" \
		>"$work/out" 2>"$work/err" &
	weft_pid=$!
	started+=("$weft_pid")
	await 100 eval '[ -n "$(child_of "$weft_pid")" ]' || return 1
	target=$(child_of "$weft_pid")
	started+=("$target")
}

worked() { # PID TICKS
	await 300 awk -v least="$2" '{ exit !($14 + $15 >= least) }' "/proc/$1/stat"
}

killed_while_stopped() { # what the rings hold when the target dies is delivered
	begin --stack raw -- "$upset" burn 60 8 || return 1
	worked "$target" 20 && kill -STOP "$weft_pid" && worked "$target" 60 || return 1
	kill -9 "$target"
	kill -CONT "$weft_pid"
	wait "$weft_pid"
	same 137 $? && balanced "$work/u.jfr" 10
}

ends_while_running() { # MODE: --duration is over, the program goes on
	begin --stack raw --duration 500ms -- "$BUILD/tests/stress/churn" 1000000 32 || return 1
	await 300 balanced "$work/u.jfr" && kill -0 "$target" && kill -9 "$target"
	local result=$?
	wait "$weft_pid"
	[ "$result" = 0 ]
}

check "50 threads, small rings" recorded -F 10000 --ring 32K -- "$upset" burn "$time" 50
check "forks in a signal handler" recorded -F 1000 -- "$upset" handlers "$time"
check "vfork and exec by several threads" recorded -F 1000 -- "$upset" vforks "$time"
check "exec by a thread while others work" recorded -F 1000 -- "$upset" exec "$time"
check "raw clones that share memory" recorded -F 1000 -- "$upset" clones "$time"
check "a handler that leaves by siglongjmp" recorded -F 5000 -- "$upset" jumps "$time"
check "main ends by pthread_exit" recorded -F 1000 -- "$upset" ends "$time" 5
if [ "$(id -u)" = 0 ] && unshare --pid --fork true 2>/dev/null; then
	check "children in another PID namespace" recorded -F 1000 -- "$upset" unshare "$time"
else
	skip "children in another PID namespace" "namespaces are not allowed here"
fi
check "a recording of a recording" nested
check "killed while the collector is stopped" killed_while_stopped
check "a recording that ends before the program" ends_while_running
finish
