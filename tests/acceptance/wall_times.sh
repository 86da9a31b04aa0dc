#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Running, waiting for a CPU and blocked add up, for each thread: threads that compute (more of them
# than CPUs), sleep, do both, run thrice in their lives, end in the midst, and one that starts brief
# ones; recorded from their beginning, in chunks of a second, and attached to.
#
# Of each thread that is known for a second or more the samples' weights are held against the time
# that passed by the kernel's account, of the same readings: within half a hundredth, whatever the
# machine does. And that account against what the thread itself knows: the moments that the
# collector cannot see are few ms, and all of those of a thread that was attached to late.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"

seconds=${WEFT_TEST_SECONDS:-4}

record() { # NAME OPTIONS...
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" "$@" -- "$tools/wall-times" "$seconds" \
		>"$work/$name.own" 2>"$work/$name.err"
}

# It begins when it is recorded.
attach() { # NAME OPTIONS...
	local name=$1 pid
	shift
	mkfifo "$work/begin"
	"$tools/wall-times" "$seconds" "$work/pid" <"$work/begin" >"$work/$name.own" &
	started+=($!)
	exec 7>"$work/begin"
	await 60 test -s "$work/pid" || return 1
	pid=$(cat "$work/pid")
	bounded "$weft" record -o "$work/$name.jfr" "$@" -p "$pid" 2>"$work/$name.err" &
	started+=($!)
	await 60 is_recorded "$pid" || return 1
	echo >&7
	exec 7>&-
	wait "${started[${#started[@]} - 1]}" || { show "$work/$name.err"; return 1; }
}

is_recorded() { # PID
	"$weft" ps --json | jq -e --arg pid "$1" \
		'[.programs[] | select("\(.pid)" == $pid) | .state] | tostring | contains("recorded")' >/dev/null
}

# Of each thread: name, tid, passed, running, waiting, blocked by the kernel, ns.
account() {
	"$weft" print --json --events weft.ThreadTime "$1" | jq -r '
		def ns: capture("^PT(?<s>[0-9.E-]+)S$").s | tonumber * 1e9;
		[.recording.events[].values | {key: "\(.eventThread.osName) \(.eventThread.osThreadId)",
			ns: [.passed, .running, .waiting, .blocked] | map(ns)}] | group_by(.key)[] |
			"\(.[0].key) \([.[].ns] | transpose | map(add) | join(" "))"'
}

# The same by the samples: name, tid, all of its states.
weights() {
	bounded "$weft" report --json --event wall --by thread "$1" |
		jq -r '.rows[] | "\(.key) \(.total_ns)"' | sed 's/ \[\([0-9]*\)\] / \1 /'
}

adds_up() { # NAME
	account "$work/$1.jfr" | sort >"$work/account"
	weights "$work/$1.jfr" | sort >"$work/weights"
	awk 'FNR == NR { passed[$1 " " $2] = $3; sum[$1 " " $2] = $4 + $5 + $6; next }
		{ told[$1 " " $2] = $3 }
		END {
			for (t in passed) {
				if (passed[t] < 1e9) continue
				n++
				off = told[t] / passed[t] - 1
				same = sum[t] / passed[t] - 1
				printf "%s: %.4f s of %.4f s (%+.3f %%)\n", t, told[t] / 1e9,
					passed[t] / 1e9, 100 * off
				if (off > 0.005 || off < -0.005 || same > 1e-6 || same < -1e-6) bad = 1
			}
			print n " threads"
			exit bad || n < 10
		}' "$work/account" "$work/weights"
}

# Its own begin and end lie inside of what the recording has of it, under all names that it had: that
# begins in the start hook and ends in that of the end. A thread whose end nobody saw for a second
# and a half, for want of a CPU, has no account.
is_its_life() { # NAME
	awk 'FNR == NR { passed[$2] += $3; ran[$2] += $4; next }
		$2 in passed {
			n++
			printf "%s %s: passed %.4f of %.4f s, ran %.4f of %.4f s\n", $1, $2,
				passed[$2] / 1e9, $3 / 1e9, ran[$2] / 1e9, $4 / 1e9
			if (ran[$2] < 0.99 * $4 - 1e6 || passed[$2] < 0.995 * $3) bad = 1
		}
		END { exit bad || !n }' "$work/account" "$work/$1.own"
}

report_agrees() { # NAME
	bounded "$weft" report --json --event wall "$work/$1.jfr" | jq -e '.thread_times |
		.threads >= 10 and .off == 0 and (.told_ns / .passed_ns - 1 | fabs) < 0.005 and
		(.largest_gaps | length) == 10' &&
		! grep "do not add up" "$work/$1.err"
}

judge() { # NAME TEXT
	check "$2: each thread's states add up to its time" adds_up "$1" &&
		show "$work/check.out"
	check "$2: that time is the thread's life" is_its_life "$1" &&
		show "$work/check.out"
	check "$2: the report says so" report_agrees "$1"
}

if check "threads are recorded" record whole -e wall; then
	judge whole "by the wall clock"
fi
if check "with both engines, in chunks" record chunks -e cpu,wall --chunk-time 1s; then
	judge chunks "in chunks"
fi
if check "a program is attached to" attach attached -e wall; then
	judge attached "attached"
fi
finish
