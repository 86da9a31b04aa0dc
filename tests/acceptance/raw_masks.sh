#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads that open SIGPROF by system calls of their own, which no hook sees: they are sampled, and
# what the program does with its SIGPROF is as without weft. So in C, and in Go linked to libc, with
# its own profiler at work and ten thousand goroutines.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

recorded() { # NAME COMMAND...
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" -- "$@" >"$work/$name" 2>"$work/$name.err" </dev/null || {
		echo "status $?"
		cat "$work/$name" "$work/$name.err"
		return 1
	}
}

# How much of the CPU time that was used samples have seen.
seen_of() { # FILE
	"$weft" print --json --events weft.ThreadCPU "$work/$1.jfr" | jq -r '.recording.events[].values |
		[(.seen | ltrimstr("PT") | rtrimstr("S")), (.used | ltrimstr("PT") | rtrimstr("S"))] | @tsv' |
		awk -F'\t' '{ seen += $1; used += $2 } END { printf "%.3f\n", seen / (used ? used : 1) }'
}

threads_in() { # FILE PATTERN: how many threads have such samples
	"$tools/list-samples" "$work/$1.jfr" | grep "$2" | cut -f4 | sort -u | wc -l
}

for kind in thread self one kernel; do
	check "$kind: recorded" recorded $kind "$tools/raw-masks" $kind
	check "$kind: the program's own SIGPROF came" same "$("$tools/raw-masks" $kind)" "$(cat "$work/$kind")"
done
check "thread: all threads are sampled" same 4 "$(threads_in thread burn_opened)"
# On a busy machine, where slices of time end with ticks, ticks see less than was used; a thread that
# opens what it has blocked is not sampled until the collector has read its mask.
check "thread: most that was used is seen" at_least 0.5 "$(seen_of thread)"
for kind in self one kernel; do
	check "$kind: much that was used is seen" at_least 0.3 "$(seen_of $kind)"
done

if ! have go || ! CGO_ENABLED=1 GOFLAGS=-mod=mod bounded go build -o "$work/gopher" \
	"$(dirname "$0")/gopher/gopher.go" >"$work/go.out" 2>&1; then
	skip "Go with cgo" "there is no go that builds with cgo"
	finish
fi

own_profile() { # FILE: "all seven three weft", samples of Go's own profiler: most have their leaf in asyncPreempt
	go tool pprof -top -nodecount=10000 -sample_index=samples "$work/gopher" "$1" 2>/dev/null | awk '
		on { n = $1; all += n }
		$1 == "flat" { on = 1 }
		on && $6 ~ /sevenParts/ { seven += $4 }
		on && $6 ~ /threeParts/ { three += $4 }
		on && $6 ~ /weft_/ { weft += n }
		END { print all + 0, seven + 0, three + 0, weft + 0 }'
}

# Shares by samples: seven of ten, within five standard deviations and a hundredth for the rest.
is_seven_of_ten() { # SEVEN THREE
	awk -v a="$1" -v b="$2" 'BEGIN {
		n = a + b; p = n ? a / n : 0; e = n ? 5 * sqrt(0.21 / n) + 0.01 : 1
		printf "%d of %d: %.3f, allowed 0.7 +- %.3f\n", a, n, p, e
		exit !(n >= 100 && p - 0.7 < e && 0.7 - p < e) }'
}

own_is_right() { # the profile of a run
	local all seven three weft
	read -r all seven three weft <<<"$(own_profile "$1")"
	echo "all $all, seven $seven, three $three, weft $weft"
	[ "$weft" = 0 ] && is_seven_of_ten "$seven" "$three"
}

samples_of() { # FILE FUNCTION
	"$tools/list-samples" "$work/$1.jfr" | cut -f8 | grep -c "$2"
}

# Each is right by itself within its error; together they are the same to within the sum of these.
own_is_unchanged() {
	local before after
	before=$(own_profile "$work/alone.pprof")
	after=$(own_profile "$work/beside.pprof")
	echo "alone: $before; recorded: $after"
	awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x, " "); split(a, y, " ")
		exit !(y[1] > 0.6 * x[1] && y[1] < 1.6 * x[1]) }'
}

check "Go: the program alone" bounded "$work/gopher" "$work/alone.pprof"
check "Go: its own profile is right" own_is_right "$work/alone.pprof"
check "Go: recorded" recorded go "$work/gopher" "$work/beside.pprof"
check "Go: it is done" grep -q '^done' "$work/go"
check "Go: more than its main thread is sampled" at_least 3 "$(threads_in go 'main\.')"
check "Go: most that was used is seen" at_least 0.5 "$(seen_of go)"
check "Go: its shares are right" is_seven_of_ten "$(samples_of go sevenParts)" "$(samples_of go threeParts)"
check "Go: its own profile is right, with nothing of weft's" own_is_right "$work/beside.pprof"
check "Go: its own profile has as many samples as before" own_is_unchanged
finish
