#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file that weft writes opens in the JDK's own tool, and holds there what weft says.
. "$(dirname "$0")/lib.sh"
seventeen=$(jdk 17)
twentyfive=$(jdk 25)
# The best code and more threads for garbage come too late for a tool that runs for a moment.
for_a_moment=(-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC)
[ -n "$seventeen$twentyfive" ] || skip_all "no JDK 17 or 25 under /usr/lib/jvm or JAVA_HOME"

make_killed() { # the target dies by SIGKILL in the middle
	"$weft" record -o "$work/killed.jfr" -- sh -c '"$0" 30 & echo $! >"$1"; wait' \
		"$tools/burn" "$work/pid" 2>"$work/killed.err" &
	local weft_pid=$!
	started+=("$weft_pid")
	await 300 test -s "$work/pid"
	await 300 has_used "$(cat "$work/pid")" 100 || return 1
	kill -9 "$(cat "$work/pid")"
	wait "$weft_pid"
	test -s "$work/killed.jfr"
}

make_files() {
	bounded "$weft" record -o "$work/plain.jfr" -- "$tools/burn" 0.7 3 &&
		bounded "$weft" record --inline-context -o "$work/inline.jfr" -- "$tools/burn" 0.5 2 &&
		bounded "$weft" record -o "$work/idle.jfr" -- true &&
		make_killed
}

# jfr COMMAND FILE: runs, exits 0, complains of nothing.
opens() {
	bounded "$1/bin/jfr" "${for_a_moment[@]}" "$2" "$3" >"$work/jfr.out" 2>"$work/jfr.err" || {
		cat "$work/jfr.err"
		return 1
	}
	! grep -E 'Exception|jfr: ' "$work/jfr.err"
}

prints_all_samples() { # HOME FILE
	local event=jdk.ExecutionSample ours theirs
	[ "$2" = "$work/inline.jfr" ] && event=weft.ExecutionSample
	bounded "$1/bin/jfr" "${for_a_moment[@]}" print --events "$event" "$2" >"$work/print" || return 1
	theirs=$(grep -c "^$event {" "$work/print")
	ours=$(bounded "$weft" report --json "$2" | jq .samples)
	same "$ours" "$theirs"
}

# Each sample of burn's threads has a span: a Context line under it.
has_context_lines() {
	bounded "$1/bin/jfr" "${for_a_moment[@]}" print --events jdk.ExecutionSample "$work/plain.jfr" >"$work/print" ||
		return 1
	local samples contexts
	samples=$(grep -c '^jdk.ExecutionSample {' "$work/print")
	contexts=$(grep -c 'Context: .*spanId' "$work/print")
	note "$contexts Context lines with a spanId under $samples samples"
	at_least "$(awk -v n="$samples" 'BEGIN { print 0.95 * n }')" "$contexts"
}

check "recordings: plain, --inline-context, of a program without samples, of a killed one" \
	make_files || finish
for home in $seventeen $twentyfive; do
	name=$(basename "$home")
	for file in plain inline idle killed; do
		for command in summary metadata print; do
			check "$name: jfr $command $file.jfr" opens "$home" "$command" "$work/$file.jfr"
		done
		have jq && check "$name: $file.jfr: as many samples as weft report counts" \
			prints_all_samples "$home" "$work/$file.jfr"
	done
done
[ -n "$seventeen" ] || skip "JDK 17" "not installed"
if [ -n "$twentyfive" ]; then
	check "JDK 25 prints Context: lines under execution samples" has_context_lines "$twentyfive"
else
	skip "JDK 25" "not installed"
fi
finish
