#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs whose seccomp filter kills for what it does not know run as they would alone, recorded
# from their start, attached to, and begun under a filter; and who has no samples, or only some, is
# told why. What fails is tried alone: what does not work here is skipped. By root, without
# no_new_privs, some ways and lists stand for all; --long: all of them.
. "$(dirname "$0")/../lib.sh"
have jq || skip_all "jq is not installed"
filters=$BUILD/tests/acceptance/filters/filters
library=$BUILD/src/runtime/libweft.so
"$filters" prctl tight alone >/dev/null 2>&1
[ $? = 7 ] || skip_all "no seccomp filters here"
uid=$(id -u)
all=${1-}

# As alone: its word, its status.
is_itself() { # STATUS
	same 7 "$1" && same done "$(cat "$work/out")" || {
		cat "$work/err"
		return 1
	}
}

works_alone() { # ARGUMENT...
	bounded "$filters" "$@" >"$work/out" 2>"$work/err" </dev/null
	[ $? = 7 ]
}

recorded() { # ARGUMENT...
	rm -f "$work/x.jfr"
	bounded "$weft" record -F 500 -o "$work/x.jfr" -- "$filters" "$@" >"$work/out" 2>"$work/err" </dev/null
	is_itself $?
}

clock_says() { # WHY
	"$weft" print --json --events weft.Clock "$work/x.jfr" >"$work/clock" && grep -q "$1" "$work/clock" || {
		cat "$work/clock" "$work/err"
		return 1
	}
}

says() { # PATTERN
	grep -qE "$1" "$work/err" || {
		cat "$work/err"
		return 1
	}
}

has_samples() {
	at_least 5 "$("$weft" report --json --top 0 "$work/x.jfr" | jq -r '.counters.delivered // 0')"
}

# try_as HOW TEXT ARGUMENT...
try_as() {
	local how=$1 text=$2
	shift 2
	if "$how" "$@" >"$work/tried" 2>&1; then
		check "$text" true
	elif works_alone "$@"; then
		check "$text" fails_as "$work/tried"
	else
		skip "$text" "does not run here alone"
		return 1
	fi
}

try() { # TEXT ARGUMENT...
	try_as recorded "$@"
}

stands_for_all() { # HOW LIST
	case $1/$2 in prctl/docker | syscall/tight | library/system | prctl/bare) ;; *) return 1 ;; esac
}

# ---- from the start: each way that libc sees, each list
export FILTERS_PRIVS
for FILTERS_PRIVS in give keep; do
	[ "$FILTERS_PRIVS" = give ] || [ "$uid" = 0 ] || continue
	how_much="with no_new_privs"
	[ "$FILTERS_PRIVS" = give ] || how_much="by root, without no_new_privs"
	for how in prctl syscall library; do
		for list in docker system tight bare; do
			[ "$FILTERS_PRIVS$all" != keep ] || stands_for_all $how $list || continue
			try "$how, $list, $how_much: one thread" "$how" "$list" alone &&
				check "... and the recording says why" clock_says 'filters its system calls'
			case $list in
			docker | tight)
				try "$how, $list, $how_much: threads begun later" "$how" "$list" threads &&
					check "... and weft says why they have no samples" \
						says 'threads had no CPU timer.*seccomp filter|filters its system calls'
				;;
			esac
			try "$how, $list, $how_much: threads begun before" "$how" "$list" before
			case $list in bare) ;; *) check "... and there are samples" has_samples ;; esac
		done
	done
done
FILTERS_PRIVS=give
try "strict mode" strict tight alone &&
	check "... and the recording says why" clock_says 'filters its system calls'
try "one thread's own filter" prctl tight thread

# ---- preloaded, and recorded by nobody
idle() { # ARGUMENT...
	bounded env "LD_PRELOAD=$library" "$filters" "$@" >"$work/out" 2>"$work/err" </dev/null
	is_itself $?
}
for how in raw all; do
	for work_of in threads before thread; do
		try_as idle "not recorded: $how, tight: $work_of" "$how" tight "$work_of"
	done
done

# ---- handed down by exec
# (Another file, and for some seconds: weft looks once a second, and tells programs by their files.)
cp "$filters" "$work/heir"
for list in docker system; do
	rm -f "$work/x.jfr"
	try "begun under $list" prctl "$list" exec "$work/heir" prctl "$list" long &&
		check "... and weft says that it is not recorded" says 'ran unrecorded: heir .*filters its system calls'
done

# Weft itself under a filter that refuses, as in a container: a filter of its own is the program's, too.
contained() {
	rm -f "$work/x.jfr"
	bounded "$filters" prctl refuse exec "$weft" record -F 500 -o "$work/x.jfr" -- \
		sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >"$work/out" 2>"$work/err"
}
check "weft and the program under a filter that refuses" contained
check "... and there are samples" has_samples
check "... by ticks, and why" clock_says 'perf_event_open'
doctors() {
	bounded "$filters" prctl refuse exec "$weft" doctor --json >"$work/out"
	same ok "$(jq -r .checks.hooks.state "$work/out")" && same ok "$(jq -r .checks.launch.state "$work/out")"
}
check "weft doctor tries what a recording would do there" doctors

# ---- attached to
under=()
begin() { # ARGUMENT...: a program with a session of its own
	rm -f "$work/in"
	mkfifo "$work/in"
	"${under[@]}" env "LD_PRELOAD=$library" "$filters" "$@" <"$work/in" >"$work/out" 2>"$work/err" &
	pid=$!
	started+=("$pid")
	exec 9>"$work/in"
}

has_filter() { # a filter, and computes
	grep -qE '^Seccomp:	2' "/proc/$pid/status" && has_used "$pid" 10
}

end() {
	exec 9>&-
	wait "$pid"
	is_itself $?
}

is_refused() {
	! bounded "$weft" record -p "$pid" --duration 1s -o "$work/x.jfr" >"$work/told" 2>&1 &&
		grep -q 'filters its system calls' "$work/told" || {
		cat "$work/told"
		return 1
	}
}

attached_to() { # HOW LIST
	begin "$1" "$2" wait
	await 600 has_filter || return 1
	is_refused || { kill -0 "$pid" || echo "killed"; return 1; }
}
for FILTERS_PRIVS in give keep; do
	[ "$FILTERS_PRIVS" = give ] || [ "$uid" = 0 ] || continue
	for how in prctl syscall raw all; do
		check "attached to: $how, $FILTERS_PRIVS" attached_to "$how" tight
		check "... it goes on, and ends as it would" end
	done
done

FILTERS_PRIVS=give
by_wall_clock() {
	begin prctl tight wait
	await 600 has_filter && bounded "$weft" record -e wall -p "$pid" --duration 1s -o "$work/x.jfr"
}
check "attached to for the wall clock alone, which asks it for nothing" by_wall_clock
check "... and there are samples" at_least 1 \
	"$("$weft" report --json --top 0 "$work/x.jfr" | jq -r .samples)"
check "... it goes on, and ends as it would" end

# What /proc tells of filters stands behind the groups.
FILTERS_PRIVS=give
under=(setpriv "--groups=$(seq -s, 1000001 1000900)")
if "${under[@]}" true 2>/dev/null; then
	check "attached to: raw, in many groups" attached_to raw tight
	check "... it goes on, and ends as it would" end
else
	skip "attached to: raw, in many groups" "setpriv, or the right to have many"
fi
under=()

begin none tight wait
check "attached to without a filter" bounded "$weft" record -p "$pid" --duration 1s -o "$work/x.jfr"
check "... and there are samples" has_samples
check "... it ends as it would" end
finish
