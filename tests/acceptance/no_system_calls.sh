#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# After priming, weft adds no system call to a program but the handler's rt_sigreturn, however
# it takes the stacks: seen by strace in a program that makes none itself, and in the demo
# server at work. The exceptions: opening more of the unwind tables is an mprotect, and counted; a
# tick asks once what the thread has used, and, when the hrtimer has told nothing for long, whether
# its handler is there; an hrtimer is opened anew for its next gaps, at most once in eight signals,
# by seven calls, and one more if its number has changed; when the first gap of one is over, and another
# begins, the thread's CPU time is read.
. "$(dirname "$0")/lib.sh"
have strace || skip_all "strace is not installed"
strace -o /dev/null true 2>/dev/null || skip_all "strace may not trace here"

trace_steady() { # HOW
	bounded strace -f -o "$work/trace" "$weft" record --stack "$1" -F 1000 -o "$work/steady.jfr" -- \
		"$tools/steady" >"$work/out" 2>"$work/err" || {
		cat "$work/err"
		return 1
	}
	grep -qx steady "$work/out"
}

# Between the two marks of a thread: its calls by name, without the signals' own lines. That of a new
# key of OpenTelemetry's, by which others learn of it, is told apart.
between_marks() {
	awk '
		/write\(-1, "mark"/ { inside[$1] = !inside[$1]; marks++; next }
		/<\.\.\. (write|prctl) resumed>/ { next } # the mark itself: any other began as write( above
		inside[$1] && /prctl\(PR_SET_VMA.*"OTEL_CTX"/ { calls["told"]++; next }
		inside[$1] && $2 == "---" { signals++; next }
		inside[$1] { name = $2; if ($2 == "<...") name = $3; sub(/\(.*/, "", name); calls[name]++ }
		END {
			for (name in calls) print name, calls[name]
			print "marks", marks + 0
			print "signals", signals + 0
		}' "$work/trace"
}

only_sigreturn() {
	between_marks >"$work/calls"
	cat "$work/calls"
	grep -qx 'marks 4' "$work/calls" || return 1
	awk '$1 == "signals" && $2 >= 20 { seen = 1 } END { exit !seen }' "$work/calls" || return 1
	opened_as_counted || return 1
	clock_as_told || return 1
	! grep -vE "^(rt_sigreturn|marks|signals|mprotect|told|${clock_calls// /|}) " "$work/calls"
}

clock_calls="clock_gettime getrusage rt_sigaction rt_sigtimedwait ioctl perf_event_open fcntl mmap close munmap timer_settime"

calls_named() { # NAME
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { if (!found) print 0 }' "$work/calls"
}

clock_as_told() {
	local signals opened name
	signals=$(calls_named signals)
	opened=$(calls_named perf_event_open)
	echo "$signals signals, $opened hrtimers opened"
	[ "$opened" -le $((signals / 4 + 8)) ] || return 1 # in two threads
	# a call that another thread's came into stands in two lines
	[ "$(calls_named getrusage)" -le $((2 * signals)) ] || return 1
	[ "$(calls_named clock_gettime)" -le $((2 * 2 * opened + 8)) ] || return 1
	[ "$(calls_named rt_sigtimedwait)" -le $((2 * opened + 2)) ] || return 1
	[ "$(calls_named fcntl)" -le $((2 * (signals + 3 * opened + 6))) ] || return 1
	for name in mmap close munmap timer_settime; do
		[ "$(calls_named $name)" -le $((2 * (opened + 4))) ] || return 1
	done
}

counter() { # NAME
	"$weft" report --counters "$work/steady.jfr" | awk -v name="$1" '$2 == name { print $1 }'
}

opened_as_counted() {
	local calls
	calls=$(awk '$1 == "mprotect" { print $2 }' "$work/calls")
	echo "mprotect ${calls:-0}, tables_opened $(counter tables_opened)"
	[ "${calls:-0}" -le "$(counter tables_opened)" ]
}

walked() {
	echo "walked $(counter stack_walked), copied $(counter stack_copied)"
	[ "$(counter stack_walked)" -gt "$(counter stack_copied)" ]
}

# Each of its threads.
is_traced() { # PID
	[ "$(cat "/proc/$1/task/"*/status | awk '$1 == "TracerPid:" { n += $2 > 0; all++ }
		END { print (all > 1 && n == all) }')" = 1 ]
}

# Names of the system calls that the server's workers make while it serves, after a warm-up.
calls_of_server() { # FILE COMMAND...
	local file=$1 pid server port
	shift
	rm -f "$work/port"
	# malloc takes memory and gives it back when chance wants it, with weft and without
	MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_TOP_PAD_=67108864 MALLOC_ARENA_MAX=1 "$@" "$BUILD/examples/shop-server" -p 0 -P "$work/port" >/dev/null 2>"$work/server.err" &
	pid=$!
	started+=("$pid")
	await 100 test -s "$work/port" || return 1
	port=$(cat "$work/port")
	server=$pid
	[ $# -gt 0 ] && server=$(awk '{ print $1 }' "/proc/$pid/task/$pid/children")
	bounded "$BUILD/examples/shop-load" -p "$port" -n 300 >/dev/null
	strace -f -qq -o "$file.trace" -p "$server" 2>/dev/null &
	local tracer=$!
	started+=("$tracer")
	await 600 is_traced "$server" || return 1
	bounded "$BUILD/examples/shop-load" -p "$port" -n 300 >/dev/null || return 1
	kill "$tracer" && wait "$tracer" 2>/dev/null
	kill -TERM "$pid"
	wait "$pid"
	sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$file.trace" | sort -u >"$file"
	at_least 5 "$(wc -l <"$file")"
}

server_adds_only_sigreturn() {
	calls_of_server "$work/bare" || return 1
	calls_of_server "$work/recorded" "$weft" record -F 1000 -o "$work/server.jfr" -- || return 1
	comm -13 "$work/bare" "$work/recorded" >"$work/added"
	echo "added:" $(cat "$work/added")
	# whether a lock is met taken is chance
	same rt_sigreturn "$(grep -vxE "restart_syscall|futex|${clock_calls// /|}" "$work/added")"
}

# Labels in all formats, with who reads them from outside there. Run alone, then recorded.
all_formats=(-E WEFT_PUBLISH=v1,labels,otel -E "LD_PRELOAD=$BUILD/src/customlabels/libcustomlabels-weft.so")

labels_alone() {
	bounded strace -f "${all_formats[@]}" -o "$work/trace" "$tools/steady-labels" 2000 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	same 'steady, 0 allocations' "$(cat "$work/out")" || return 1
	between_marks >"$work/calls"
	cat "$work/calls"
	same "marks 4
signals 0" "$(grep -v '^told' "$work/calls" | sort)" || return 1
	# each thread has 60 keys of its own; one that comes while the other is telling tells of several
	awk '$1 == "told" { told = $2 } END { exit told < 1 || told > 121 }' "$work/calls"
}

labels_shown() { # nobody measured an empty room: both formats were at work
	grep -q 'memfd_create("OTEL_CTX"' "$work/trace" || return 1
	grep -q 'libcustomlabels-weft.so' "$work/trace"
}

labels_recorded() {
	bounded strace -f "${all_formats[@]}" -o "$work/trace" "$weft" record -F 1000 \
		-o "$work/steady.jfr" -- "$tools/steady-labels" 400000 >"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	grep -qx 'steady, 0 allocations' "$work/out"
}

check "every label and context call, all formats: no system call but one for a new key, no allocation" labels_alone
check "and the formats were on" labels_shown
check "strace runs steady-labels under weft record" labels_recorded &&
	check "label and sample paths: rt_sigreturn alone" only_sigreturn
show "$work/check.out" 10

for how in raw auto table fp; do
	check "strace runs steady under weft record --stack $how" trace_steady $how || continue
	check "context, scope, tag and sample paths, $how: rt_sigreturn alone" only_sigreturn
	show "$work/check.out" 10
	[ $how = raw ] || check "$how: the handler walked" walked
done
check "the demo server in steady state: rt_sigreturn is all that weft adds" \
	server_adds_only_sigreturn
show "$work/check.out" 5
finish
