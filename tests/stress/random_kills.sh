#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGKILL of either side at random moments: the other side lives, the file opens, and its
# books balance: what was in a thread's hands is pending. Every other program is one whose
# threads come and go.
#
#   WEFT_KILLS=200 WEFT_SEED=1: how often, and from which seed the moments come
. "$(dirname "$0")/../acceptance/lib.sh"
kills=${WEFT_KILLS:-200}
RANDOM=${WEFT_SEED:-1}
round=0
pending=0
have jq || skip_all "jq is not installed"
note "$kills kills from seed ${WEFT_SEED:-1}"

child_of() {
	awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null
}

begin() { # starts weft and its program; sets weft_pid and target
	rm -f "$work/k.jfr"
	round=$((round + 1))
	if [ $((round % 2)) = 0 ]; then
		set -- "$tools/burn" 3 2
	else
		set -- "$BUILD/tests/stress/churn" 1000000 8
	fi
	"$weft" record -F 1000 --chunk-time 50ms -o "$work/k.jfr" -- "$@" >"$work/out" 2>"$work/err" &
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
	[ ! -s "$work/k.jfr" ] && return
	"$tools/list-samples" "$work/k.jfr" >/dev/null || return 1
	"$weft" report "$work/k.jfr" --json --top 1 >"$work/json" 2>"$work/err" # there may be no samples
	[ ! -s "$work/json" ] || jq -e '.books == {} or .books.balanced' "$work/json" >/dev/null || {
		jq .books "$work/json"
		return 1
	}
	[ ! -s "$work/json" ] || pending=$((pending + $(jq '.books.pending // 0' "$work/json")))
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

check "the target is killed: weft says so, the file opens, the books balance" all kill_target
check "the collector is killed: the target runs on, the file opens, the books balance" all kill_collector
note "$pending samples were pending"
finish
