#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that take away what they have not made: actions of signals, by system calls past libc, and
# mappings. What docs/guest.md says of each: it runs on, recorded, or ends, and by what.
. "$(dirname "$0")/lib.sh"
sweeps=$tools/sweeps

# The program's status, its output in $work/NAME, weft's words in $work/NAME.err.
recorded() { # NAME OPTION... -- WHAT
	local name=$1 status=0
	shift
	bounded "$weft" record -F 1000 -o "$work/$name.jfr" "${@:1:$#-2}" -- "$sweeps" "${@: -1}" \
		>"$work/$name" 2>"$work/$name.err" </dev/null || status=$?
	echo $status
}

ends_well() { # NAME OPTION... -- WHAT: as it does alone
	local status alone
	alone=$(bounded "$sweeps" "${@: -1}" 2>/dev/null) || return
	status=$(recorded "$@")
	cat "$work/$1.err"
	same "0 $alone" "$status $(cat "$work/$1")"
}

took() { # NAME
	sed -n 's/^took //p' "$work/$1.err"
}

samples_of() { # NAME
	"$tools/list-samples" "$work/$1.jfr" | grep -c burn_after
}

samples_of_least() { # NAME: of the thread that has the fewest
	"$tools/list-samples" "$work/$1.jfr" | cut -f4 | sort | uniq -c | sort -n | awk 'NR == 1 { print $1 }'
}

# ---- signals. One tick of the kernel's ends a thread that runs for so long.
check "signals reset: SIGPROF ends it" same 155 "$(recorded prof -- signals)"
check "... and weft says how to record it" grep -q 'ended by SIGPROF.*--tick-signal winch$' "$work/prof.err"
for clock in auto ticks; do
	check "signals reset, --tick-signal winch, $clock: it ends well" \
		ends_well winch --tick-signal winch --clock $clock -- signals
	check "... and is told of" grep -q 'could not be sampled: .*(its SIGWINCH handler was replaced)' \
		"$work/winch.err"
done
for clock in auto ticks; do
	check "its own SIGWINCH, --tick-signal winch, $clock: as without weft" \
		ends_well caught --tick-signal winch --clock $clock -- caught
	check "... and it is sampled" at_least 200 "$(samples_of caught)"
done

# ---- mappings, by libc
for what in unmap close replace; do
	check "mappings, $what: it ends well" ends_well $what --clock ticks -- $what
	check "... there were some" at_least 1 "$(took $what)"
	check "... and it is sampled" at_least 150 "$(samples_of $what)"
done

# ---- by system calls
# By the next handler or the thread's end, whichever comes first.
check "mappings, by system calls: SIGSEGV ends it" same 139 "$(recorded raw --clock ticks -- unmap-raw)"
recorded pages -- pages >/dev/null
if [ "$(took pages)" -ge 1 ] 2>/dev/null; then
	check "pages of hrtimers: it ends well, and its own memory stays" ends_well pages -- pages
	check "... and each thread is sampled on" at_least 150 "$(samples_of_least pages)"
	check "unmapped by libc, too" ends_well libc -- unmap
	check "... and each thread is sampled on" at_least 150 "$(samples_of_least libc)"
else
	skip "pages of hrtimers" "there are no hrtimers here"
fi
finish
