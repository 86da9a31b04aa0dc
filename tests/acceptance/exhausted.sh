#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that has left nothing of what a profiler in it needs (descriptors, pages that may be
# locked, signals that may be queued, perf_event_open itself) runs as it would alone, and is
# recorded by what there still is: what was seen agrees with what was used, or who is not seen is
# named.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

exhausted=$tools/exhausted
as=() # who runs what is recorded

run_plain() { # ARGUMENT...
	bounded ${as[@]+"${as[@]}"} "$exhausted" "$@" >"$work/plain" 2>"$work/plain.err" </dev/null
}

# What the program prints is not mixed with what weft prints.
record() { # ARGUMENT...
	rm -f "$work/x.jfr"
	bounded ${as[@]+"${as[@]}"} "$weft" record -o "$work/x.jfr" -- \
		sh -c 'exec "$0" "$@" >"$OUT" 2>"$OUT.err"' "$exhausted" "$@" 2>"$work/weft.err" </dev/null
}

plain_failed() { # STATUS
	echo "not recorded: status $1"
	cat "$work/plain.err"
	return 1
}

# The same output, and not a word more. A forked child lingers: then both at once.
unharmed() { # ARGUMENT...
	local plain=
	case " $* " in
	*" fork "*)
		run_plain "$@" &
		plain=$!
		;;
	*) run_plain "$@" || plain_failed $? || return ;;
	esac
	record "$@" || {
		echo "recorded: status $?"
		cat "$work/recorded.err" "$work/weft.err"
		return 1
	}
	[ -z "$plain" ] || wait "$plain" || plain_failed $? || return
	diff "$work/plain" "$work/recorded" && diff "$work/plain.err" "$work/recorded.err" &&
		[ -s "$work/plain" ] && [ ! -s "$work/plain.err" ]
}

told() { # JQ
	"$weft" report "$work/x.jfr" --json --top 0 2>/dev/null | jq -r "$1"
}

whole() {
	same 0 "$(told '[.lost[]] | add')" && same exited "$(told '.processes[-1].end')"
}

# To four standard errors of the account's own: one run in ten thousand is further off by chance.
seen_is_used() {
	local off
	off=$(told '.account | "\(.standard_errors_off) \(.used_ns) \(.seen_ns) \(.samples)"')
	echo "off, used, seen, samples: $off"
	awk -v told="$off" 'BEGIN { split(told, t, " ")
		exit !(t[1] < 4 && t[1] > -4 && t[2] > 1e8 && t[4] > 0) }'
}

# By the threads that used most, all of which should have samples.
nobody_is_left_out() {
	same 0 "$(told '.account.without_sample.threads')"
}

# The program's own rows, after the shell's.
clock_is() { # CLOCK [REASON]
	same "$1" "$(told '[.clocks[] | select(.process | startswith("exhausted"))][-1].clock')" &&
		same "${2:-null}" "$(told '[.clocks[] | select(.process | startswith("exhausted"))][-1].reason')"
}

# By hrtimers, and by ticks whom they did not suffice for.
some_lack() {
	told '.clocks[] | "\(.process) \(.clock) \(.reason)"'
	told '[.clocks[] | select(.process | startswith("exhausted"))][-1] | "\(.clock) \(.reason)"' |
		grep -Eqx "hrtimer [1-8] threads? by ticks, for want of descriptors or memory to be locked"
}

warned() { # PATTERN
	grep "$1" "$work/weft.err" || {
		cat "$work/weft.err"
		return 1
	}
}

not_warned() {
	! grep 'warning' "$work/weft.err"
}

is_sampled() { # TEXT ARGUMENT...
	local text=$1
	shift
	check "$text: the program is as it is alone" unharmed "$@"
	check "... the recording is whole" whole
	check "... what was seen is what was used" seen_is_used
	check "... of every thread" nobody_is_left_out
}

# Recorded it is, and who could not be sampled is named.
is_told() { # TEXT PATTERN ARGUMENT...
	local text=$1 pattern=$2
	shift 2
	check "$text: the program is as it is alone" unharmed "$@"
	check "... what is not seen is told" warned "$pattern"
}

export OUT=$work/recorded

is_sampled "no descriptor is left" files 8
check "... and the report says that ticks met them" some_lack
check "... and no word of warning" not_warned
is_told "no descriptor is left to a forked child" \
	'ran unrecorded: exhausted \[[0-9]*\] (could not reach the recording)' files fork 8

is_sampled "no signal may be queued" signals 8
check "... by hrtimers" clock_is hrtimer
check "... and what ticks would have seen is not" warned \
	'threads had no CPU timer, thus no samples in the kernel'
is_sampled "no signal may be queued, threads in a rush" signals 100
is_sampled "no signal may be queued in a forked child" signals fork 8

check "neither descriptor nor signal: the program is as it is alone" unharmed both 8
check "... those who are not seen are counted" same 8 \
	"$(told '.account.without_sample.threads')"
check "... with what they used" at_least 1e8 "$(told '.account.without_sample.used_ns')"
check "... and named" warned 'threads had no CPU timer, thus no samples'

# Such a filter weft would fear, if it were not told.
WEFT_FILTERS=$(one_filter_more)
export WEFT_FILTERS
is_sampled "perf_event_open refuses: EPERM" refuse 1 "$exhausted" nothing 8
check "... by ticks, and why" clock_is ticks "perf_event_open is not permitted"
is_sampled "perf_event_open refuses: ENOSYS" refuse 38 "$exhausted" nothing 8
check "... by ticks, and why" clock_is ticks "the kernel has no perf_event_open that serves"
unset WEFT_FILTERS
is_told "a filter that exec hands down" \
	"ran unrecorded: exhausted .*filters its system calls" refuse 38 "$exhausted" nothing fork 8

# A filter that weft sees being set may kill: no more is asked for.
for error in 1 38; do
	is_told "a filter is set, which refuses with $error" \
		'8 threads had no CPU timer.*seccomp filter' filter "$error" 8
	check "... the clock says so" clock_is ticks "the program filters its system calls"
	check "... who is not seen is in the report" same 8 "$(told '.account.without_sample.threads')"
done
is_told "a filter is set, and the program forks" \
	'ran unrecorded: exhausted \[[0-9]*\] (filters its system calls)' filter 1 fork 8

# Limits that are not root's: the whole of it by another user.
if [ "$(id -u)" = 0 ]; then
	home=$(mktemp -d "${TMPDIR:-/tmp}/weft-acceptance.XXXXXX") # where nobody else may write
	trap 'rm -rf "$home"; clean_up' EXIT
	chown 64322:64322 "$home"
	as=(setpriv --reuid=64322 --regid=64322 --clear-groups env "HOME=$home")
	chmod 777 "$work"
	rm -f "$work/x.jfr" "$work/recorded" "$work/recorded.err"
fi
as=(bash -c 'ulimit -l 0 && exec "$@"' bash ${as[@]+"${as[@]}"})
if "${as[@]}" "$exhausted" locked 1 >/dev/null 2>&1; then
	is_sampled "two pages may be locked" locked 8
	check "... by hrtimers where they suffice, and the report says where not" some_lack
	check "... and no word of warning" not_warned
	# Of threads that live for less than a tick, beside others, ticks see what they see.
	check "two pages may be locked, of many threads: the program is as it is alone" unharmed \
		locked 300
	check "... the recording is whole" whole
else
	skip "two pages may be locked" "another user has no perf_event_open, or may not run this"
fi
finish
