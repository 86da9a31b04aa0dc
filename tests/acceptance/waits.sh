#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Waits for locks and in calls, of a program that knows them itself: each is in the file once, with
# its lock, its holder, its thread and its end, and nothing that did not wait is; with select, those
# in spans alone. The file is read by the JDK's jfr where there is one.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
threshold=(--set 'weft.LockWait#threshold=0 ns' --set 'weft.IOWait#threshold=0 ns')

rounds=2
record() { # NAME OPTION...: what waits-known says of itself is in $work/NAME.known
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" "$@" -- "$tools/waits-known" "$rounds" \
		>"$work/$name.known" 2>"$work/err" || { cat "$work/err"; return 1; }
	read_back "$name"
}

print_json() {
	local home
	if home=$(jdk 17); then
		"$home/bin/jfr" print --json --events 'weft.LockWait,weft.IOWait' "$1"
	else
		"$weft" print --json --events 'weft.LockWait,weft.IOWait' "$1"
	fi
}

# The events as the program's lines are, the duration last.
read_back() { # NAME
	print_json "$work/$1.jfr" >"$work/$1.json" || return 1
	jq -r '.recording.events[] | .values as $v |
		($v.duration | ltrimstr("PT") | rtrimstr("S") | tonumber * 1e9 | round) as $ns |
		if .type == "weft.LockWait" then
			"lock \($v.kind) \($v.address) \($v.holder.osThreadId // 0) \($v.eventThread.osThreadId) \(if $v.timedOut then 1 else 0 end) \($ns)"
		else
			"io \($v.operation) \($v.fd) \($v.bytes) \($v.error) \($v.eventThread.osThreadId) \($ns)"
		end' "$work/$1.json" >"$work/$1.events"
}

# What there must be: all waits, or those in spans; without the column that says so, and the time.
known() { # NAME PATTERN
	awk -v which="$2" '$(NF - 1) ~ which { NF -= 2; print }' "$work/$1.known" | sort
}

events() { # NAME
	awk '{ NF -= 1; print }' "$work/$1.events" | sort
}

# The program writes its lines by one write at its end; no thread of it waited in that.
exactly() { # NAME PATTERN GROUP
	diff <(known "$1" "$2" | grep "^$3") <(events "$1" | grep "^$3" | grep -v '^io write 1 ') &&
		at_least 10 "$(events "$1" | grep -c "^$3")"
}

# No event is longer than what the thread itself took, around the call.
not_longer() { # NAME
	awk 'NR == FNR { key = $1 " " $2 " " $3; own[key] = $NF; next }
		{ key = $1 " " $2 " " $3; if (key in own && $NF + 0 > own[key] + 2000) { print; bad = 1 }
			seen += key in own }
		END { exit bad || seen < 20 }' "$work/$1.known" "$work/$1.events"
}

# It begins at the program's own call; the function that called is in the file by name.
program_first() { # NAME
	jq -r '.recording.events[] | select(.type == "weft.LockWait") |
		.values.stackTrace.frames[0].method | "\(.type.name) \(.name)"' "$work/$1.json" |
		sort | uniq -c >"$work/leaves"
	cat "$work/leaves"
	! grep -v ' waits-known wait_[a-z_0-9]*$' "$work/leaves"
}

threads_of() { # NAME: holders and waiters are threads by name, not numbers alone
	jq -e '[.recording.events[] | select(.type == "weft.LockWait") | .values |
		(.eventThread.osName, (.holder // {osName: "waits-known"}).osName)] |
		unique | . == ["waits-known"] or error(tostring)' "$work/$1.json"
}

no_waits() { # NAME: neither types nor events
	"$weft" metadata "$work/$1.jfr" >"$work/types" || return 1
	! grep -E 'weft\.(LockWait|IOWait)' "$work/types"
}

thresholded() { # by default what is shorter than a millisecond is left out
	record default --waits || return 1
	awk '$NF < 1000000 { print; bad = 1 } END { exit bad }' "$work/default.events" &&
		at_least 1 "$(wc -l <"$work/default.events")"
}

# Between the marks.
calls_are_its_own() { # COMMAND...
	bounded strace -f -o "$work/trace" "$@" "$tools/waits-known" free >/dev/null 2>"$work/err" ||
		{ cat "$work/err"; return 1; }
	awk '/write\(-1, "mark"/ { inside[$1] = !inside[$1]; marks++; next }
		inside[$1] && $2 !~ /^(---|<\.\.\.)/ { sub(/\(.*/, "", $2); calls[$2]++ }
		END { for (name in calls) print name, calls[name]; print "marks", marks + 0 }' "$work/trace" |
		sort >"$work/calls"
	cat "$work/calls"
	same "marks 2
read 100" "$(cat "$work/calls")"
}

# A sample that is taken between the marks makes calls of its own: there are few of them.
adds_no_call() { # COMMAND...
	for _ in 1 2 3 4 5 6 7 8 9; do
		calls_are_its_own "$@" >/dev/null && return
	done
	calls_are_its_own "$@"
}

if have strace && strace -o /dev/null true 2>/dev/null; then
	check "strace sees the program's calls alone" adds_no_call
	check "and no other with --waits, where nothing waits" adds_no_call "$weft" record -F 1 --waits \
		"${threshold[@]}" -o "$work/free.jfr" --
else
	skip "no system call is added where nothing waits" "strace is not installed, or may not trace here"
fi
check "recorded with --waits, no threshold" record all --waits "${threshold[@]}" && {
	check "each wait for a lock is there once, and no other" exactly all . lock
	check "each call is there once" exactly all . io
	check "none is longer than the program's own measure of it" not_longer all
	check "stacks begin at the program's call" program_first all
	check "threads have their names" threads_of all
}
rounds=tree
check "recorded with a forked child, and one begun by exec" record tree --waits "${threshold[@]}" && {
	check "each wait for a lock in all three is there once" exactly tree . lock
	check "each call" exactly tree . io
}
rounds=2
check "recorded with select=if-context" record spans --waits "${threshold[@]}" \
	--set 'weft.LockWait#select=if-context' --set 'weft.IOWait#select=if-context' && {
	check "the waits for locks in spans, and no other" exactly spans 1 lock
	check "the calls in spans, and no other" exactly spans 1 io
}
check "recorded with --waits=locks" record locks --waits=locks "${threshold[@]}" && {
	check "each wait for a lock" exactly locks . lock
	check "no calls" same 0 "$(grep -c ^io "$work/locks.events")"
}
check "recorded with --waits=io" record io --waits=io "${threshold[@]}" && {
	check "each call" exactly io . io
	check "no locks" same 0 "$(grep -c ^lock "$work/io.events")"
}
check "recorded with --waits and both types disabled" record off --waits \
	--set 'weft.*Wait#enabled=false' &&
	check "no events" same 0 "$(wc -l <"$work/off.events")"
check "a default recording has those of a millisecond and more" thresholded
# ThreadSanitizer stands behind it and must see each lock and each wait: else it tells of races.
source=$(cd "$(dirname "$0")/../.." && pwd)
tsan_program() {
	gcc -std=gnu11 -D_GNU_SOURCE -fsanitize=thread -g -O1 -I"$source/include" -o "$work/tsan" \
		"$source/examples/stock.c" -L"$BUILD/src/runtime" -Wl,-rpath,"$BUILD/src/runtime" -lweft &&
		bounded setarch -R "$work/tsan" 100
}
no_races() {
	bounded "$weft" record --waits "${threshold[@]}" -o "$work/tsan.jfr" -- \
		setarch -R "$work/tsan" 300 >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
	! grep -A 20 'ThreadSanitizer' "$work/out" &&
		"$weft" summary --json "$work/tsan.jfr" |
		jq -e '.events[] | select(.name == "weft.LockWait") | .count > 50'
}
if tsan_program >"$work/out" 2>&1; then
	check "a program under ThreadSanitizer: its waits, and no races" no_races
else
	skip "a program under ThreadSanitizer" "it cannot be built, or not be run here"
fi
check "recorded without --waits" record none &&
	check "no such types" no_waits none
finish
