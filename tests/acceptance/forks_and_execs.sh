#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A thousand forks, half of them with exec, and chains of execs, all under sampling: no
# process is killed, and children are in the same recording. Nor by a priming signal that was chosen to
# be a real-time one, whose default action kills, when it comes during exec.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

storm() {
	bounded "$weft" record -F 1000 -o "$work/storm.jfr" -- "$tools/storm" 1000 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	same "1000 children, 0 failed" "$(cat "$work/out")"
}

chain() {
	bounded "$weft" record -F 1000 -o "$work/chain.jfr" -- "$tools/storm" --chain 300 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	same "chain: 0 failed" "$(cat "$work/out")"
}

children_of_two() {
	bounded "$weft" record -o "$work/two.jfr" -- "$tools/storm" --threads 200 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	same "200 children, 0 failed" "$(cat "$work/out")"
}

real_time() {
	bounded "$weft" record --prime-signal rt -o "$work/rt.jfr" -- "$tools/exec-storm" 4 10 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
}

signals_sent() {
	bounded "$weft" report --json "$1" | jq '.counters.priming_sent // 0'
}

processes_in() {
	bounded "$weft" report "$1" --by process --json | jq '.rows | length'
}

check "1000 forks and 500 execs under sampling: none killed" storm
show "$work/err" 4
check "... children are in the same recording" at_least 2 "$(processes_in "$work/storm.jfr")"
check "300 execs in a row in one process: not killed" chain
show "$work/err" 4
check "... its samples are there" at_least 20 "$(samples_in "$work/chain.jfr")"
check "200 forks whose second thread begins the child's session while the first computes: none killed" \
	children_of_two
show "$work/err" 4
check "execs while a real-time priming signal is sent: none killed" real_time
show "$work/err" 4
check "... and sent it was" at_least 1 "$(signals_sent "$work/rt.jfr")"
finish
