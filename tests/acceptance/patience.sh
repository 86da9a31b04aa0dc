#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nobody's sleep is cut short, and nobody makes a system call that it would not have made:
# a program waits in twenty ways and counts what comes back too early, with other threads
# burning CPU beside it; and strace sees the same calls with weft as without.
# Under strace, whose stops make calls' entries long, a tick may fall into one: see same_calls.py.
#
#   WEFT_ROUNDS=40: waits of each kind
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
program=$tools/guest/patience
rounds=${WEFT_ROUNDS:-40}
have python3 || skip_all "python3 is not installed"
rates() { # ENGINES: as fast as it goes
	case $1 in
	*,*) echo "-F 1000 --wall-frequency 200" ;;
	*) echo "-F 1000" ;;
	esac
}

# None of the lines has anything but zeros, and there are twenty of them.
nothing_cut_short() {
	cat "$1"
	[ "$(grep -c 'eintr=0 early=0 failed=0$' "$1")" = "$(wc -l <"$1")" ] &&
		at_least 20 "$(wc -l <"$1")"
}

signals_are_seen() {
	! "$program" 20 1 nudge >"$work/nudged" 2>/dev/null || return 1
	at_least 12 "$(grep -vc ' eintr=0 ' "$work/nudged")"
}

waits_well() { # ENGINES
	# shellcheck disable=SC2046
	bounded "$weft" record -e "$1" $(rates "$1") -o "$work/$1.jfr" -- "$program" "$rounds" 2 \
		>"$work/out" 2>"$work/err" || {
		cat "$work/out" "$work/err"
		return 1
	}
	nothing_cut_short "$work/out"
}

# Both runs under strace; what it costs the program is the same for both. What the program prints
# is in $work/NAME-out.
trace() { # NAME COMMAND...
	local name=$1
	shift
	bounded strace -ff -s 80 -o "$work/$name" "$@" >"$work/$name-out" 2>"$work/err"
}

traced_alone() {
	trace bare "$program" 20 2 && nothing_cut_short "$work/bare-out"
}

# What was cut short is for same_calls to judge.
traced() { # ENGINES
	local status=0
	# shellcheck disable=SC2046
	trace "$1.traced" "$weft" record -e "$1" $(rates "$1") -o "$work/$1.traced.jfr" -- \
		"$program" 20 2 || status=$?
	cat "$work/$1.traced-out" "$work/err"
	[ "$status" -le 1 ] && at_least 20 "$(grep -c ' failed=0$' "$work/$1.traced-out")"
}

counter() { # FILE NAME
	"$weft" report --counters "$1" | awk -v name="$2" '$2 == name { print $1 }'
}

same_calls() { # ENGINES
	local opened
	opened=$(counter "$work/$1.traced.jfr" tables_opened)
	python3 "$here/guest/same_calls.py" "$work/bare" "$work/$1.traced" "${opened:-0}" \
		"$work/$1.traced-out"
}

# A copy of the first run, with @LINES behind its poll thread's beginning, is found to be another.
finds() { # LINES
	local file
	file=$(grep -l 'begin poll' "$work"/bare.[0-9]*) || return 1
	rm -rf "$work/more"
	mkdir -p "$work/more" && cp "$work"/bare.[0-9]* "$work/more"
	sed -i "/\"begin poll/a $1" "$work/more/$(basename "$file")"
	! python3 "$here/guest/same_calls.py" "$work/bare" "$work/more/bare" 0
}

check "the program sees calls that a signal cuts short" signals_are_seen
check "alone it sees none" eval '"$program" 20 2 >"$work/out" && nothing_cut_short "$work/out"'
engines=$(engines_here)
for engine in $engines; do
	check "$engine: 0 EINTR, 0 early returns" waits_well "$engine"
	show "$work/err" 1
done
if have strace && strace -o /dev/null true 2>/dev/null; then
	check "strace runs it" traced_alone
	check "... and a call more would be found" finds 'getpid() = 1'
	check "... and one that something else cut short" finds \
		'poll([{fd=3}], 1, 20) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)\n--- SIGURG {si_signo=SIGURG, si_code=SI_TKILL} ---'
	for engine in $engines; do
		check "strace runs it under -e $engine" traced "$engine" &&
			check "$engine: the calls of its threads are the same but for the timers' own" \
				same_calls "$engine"
		show "$work/check.out" 4
	done
else
	skip "the same system calls" "strace is not installed, or may not trace here"
fi
finish
