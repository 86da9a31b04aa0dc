#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Waits for completions of io_uring, which run what the kernel has put off for the thread: a tick in
# there ends the wait with EINTR, as docs/guest.md says. No completion is lost by it, few waits are
# cut short, and none without weft.
. "$(dirname "$0")/lib.sh"
rounds=${WEFT_ROUNDS:-20000}
waits=$tools/guest/ring-waits
alone=$("$waits" 10)
[ "$alone" != none ] || skip_all "there is no io_uring here"

field() { # FILE NAME
	sed -n "s/.*$2 \([0-9]*\).*/\1/p" "$work/$1"
}

recorded() { # ENGINE
	bounded "$weft" record -e "$1" -o "$work/$1.jfr" -- "$waits" "$rounds" >"$work/$1" 2>"$work/err" \
		</dev/null || {
		cat "$work/$1" "$work/err"
		return 1
	}
}

check "alone" eval 'bounded "$waits" "$rounds" >"$work/alone"'
check "alone: no wait is cut short" same "0 0" "$(field alone cut) $(field alone lost)"
for engine in cpu wall; do
	check "-e $engine: recorded" recorded $engine
	check "-e $engine: no completion is lost" same 0 "$(field $engine lost)"
	note "-e $engine: $(cat "$work/$engine")"
	# More would be more than the way into the wait accounts for.
	check "-e $engine: one in a thousand is cut short at the most" \
		at_least "$(field $engine cut)" $((rounds / 1000))
done
finish
