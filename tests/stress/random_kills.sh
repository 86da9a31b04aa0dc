#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGKILL of either side at random moments: the other side lives, the file opens.
#
#   WEFT_KILLS=200 WEFT_SEED=1: how often, and from which seed the moments come
. "$(dirname "$0")/../acceptance/lib.sh"
kills=${WEFT_KILLS:-200}
RANDOM=${WEFT_SEED:-1}
note "$kills kills from seed ${WEFT_SEED:-1}"

child_of() {
	awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null
}

begin() { # starts weft and its program; sets weft_pid and target
	rm -f "$work/k.jfr"
	"$weft" record -F 1000 --chunk-time 50ms -o "$work/k.jfr" -- "$tools/burn" 3 2 \
		>"$work/out" 2>"$work/err" &
	weft_pid=$!
	started=("$weft_pid")
	await 100 eval '[ -n "$(child_of "$weft_pid")" ]' || return 1
	target=$(child_of "$weft_pid")
	started+=("$target")
}

pause() {
	sleep "0.$(printf '%03d' $((RANDOM % 400)))"
}

opens() { # a file that was begun can be read to its end
	[ ! -s "$work/k.jfr" ] || "$tools/list-samples" "$work/k.jfr" >/dev/null
}

kill_target() {
	begin || return 1
	pause
	kill -9 "$target" 2>/dev/null
	wait "$weft_pid"
	same 137 $? && opens
}

kill_collector() {
	begin || return 1
	pause
	kill -9 "$weft_pid" 2>/dev/null
	wait "$weft_pid" 2>/dev/null
	kill -0 "$target" || return 1
	opens || return 1
	kill -9 "$target"
}

all() { # COMMAND
	local i
	for ((i = 0; i < kills / 2; i++)); do
		"$1" || {
			echo "kill $i"
			return 1
		}
	done
}

check "the target is killed: weft says so, the file opens" all kill_target
check "the collector is killed: the target runs on, the file opens" all kill_collector
finish
