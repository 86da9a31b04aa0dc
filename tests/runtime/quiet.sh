#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# System calls of the context and sample paths, by strace: none but rt_sigreturn, and what a tick
# asks for (the thread's usage); no allocation once a thread is primed (the program
# counts its own malloc calls).
. "$(dirname "$0")/lib.sh"
command -v strace >/dev/null || { echo "strace is missing"; exit 77; }
strace -o /dev/null true 2>/dev/null || { echo "strace may not trace here"; exit 77; }

# "quiet" writes a marker with getsid before and after its contexts, samples included.
tiny strace -f -o "$out/trace" "$VICTIM" quiet 300
is "status" $? -eq 0
is "sampled" "$(sum samples)" -gt 2
sed -n '/getsid/,/getsid/p' "$out/trace" | grep -v getsid |
	sed 's/^[0-9]* *//' | grep -v '^--- SIGPROF\|^rt_sigreturn\|^getrusage(RUSAGE_THREAD' >"$out/calls"
is "between the markers there were signals" "$(grep -c 'SIGPROF' "$out/trace")" -gt 2
is "no system call: $(head -3 "$out/calls")" "$(wc -l <"$out/calls")" -eq 0
exit $failed
