#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program's own SIGPROF life, recorded and not: both must come out the same.
. "$(dirname "$0")/lib.sh"

for case in sigown "itimer 100" "sigmask 60" sigwait; do
	# shellcheck disable=SC2086
	tiny "$VICTIM" $case
	is "$case: status" $? -eq 0
	is "$case: sampled" "$(sum samples)" -gt 1
	books "$case"
done
tiny "$VICTIM" sigmask 60
is "sigmask: sampled while it believes SIGPROF blocked" "$(span 51)" -gt 1

tiny "$VICTIM" sigdfl
is "a foreign SIGPROF kills, as ever" $? -eq 155
"$VICTIM" sigdfl
is "also without a recording" $? -eq 155

tiny "$VICTIM" sigexec ignored
is "ignored is handed down" "$(grep -c 'SigIgn:.*4000000$' "$out/answer")" -eq 1
tiny "$VICTIM" sigexec blocked
is "blocked is handed down" "$(grep -c 'SigBlk:.*4000000$' "$out/answer")" -eq 1
tiny "$VICTIM" sigexec jumped
is "blocked and undone by siglongjmp is not" "$(grep -c 'SigBlk:.*0000000$' "$out/answer")" -eq 1
tiny "$VICTIM" sigexec default
is "nothing else is" "$(grep -c 'Sig\(Blk\|Ign\):.*0000000$' "$out/answer")" -eq 2

# A profile of libc's own holds its own ticks only, and weft's all of it.
if [ -n "${VICTIM_GPROF:-}" ]; then
	(cd "$out" && tiny "$VICTIM_GPROF" burn 500)
	is "gprof: sampled" "$(sum samples)" -gt 50
	books "gprof"
	told=$("$GPROF" -bp "$VICTIM_GPROF" "$out/gmon.out" | awk '$1 + 0 > 0 { s += $3 } END { print int(s * 100) }')
	is "gprof: its own profile" "$told" -gt 20
	is "gprof: ours is not in it" "$told" -lt 75
	killed=0
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		(cd "$out" && tiny -p 200000 "$VICTIM_GPROF" burn 15) || killed=$((killed + 1))
	done
	is "gprof: none killed when it ends" $killed -eq 0
fi

WEFT_HOOKS=-threads tiny "$VICTIM" threads 3 40
is "hooks off: no hook call" "$(sum hook_calls)" -eq 0
is "hooks off: threads get slots by their first write" "$(sum primed_main)" -eq 4
is "hooks off: header says so" "$(sum hooks)" -eq 14
books "hooks off"
exit $failed
