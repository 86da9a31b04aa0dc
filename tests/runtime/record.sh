#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a recording must hold: threads, contexts, forks, exhaustion, a stop in the middle.
. "$(dirname "$0")/lib.sh"

tiny "$VICTIM" burn 200
is "burn: status" $? -eq 0
is "burn: samples" "$(sum samples)" -gt 5
is "burn: all under span 1" "$(span 1)" -eq "$(sum ctx_ids)"
is "burn: weights" "$(sum weight)" -eq $(($(sum samples) + $(sum overruns)))
is "burn: modules" "$(sum modules)" -gt 2
is "burn: command" "$(sum commands)" -eq 1
is "burn: main stack is known" "$(sum stack_self_read)" -eq 0
books burn

tiny_threads "$VICTIM" 9 150
is "threads: hooked" "$(sum primed_hook)" -eq 9
is "threads: hook calls" "$(sum hook_calls)" -eq 9
is "threads: a slot each" "$(sum slots_seen)" -eq 10
is "threads: all given back but main's" "$(sum slots_used)" -eq 1
is "threads: timers deleted" "$(sum timers)" -eq 1
is "threads: stacks are known" "$(sum stack_self_read)" -eq 0
is "threads: never without context" "$(($(sum ctx_none) + $(sum ctx_ids)))" -eq "$(sum samples)"
books threads

tiny "$VICTIM" whole 100
is "whole: trace id" "$(sum ctx_trace)" -gt 2
is "whole: dictionary" "$(sum strings) $(sum names)" = "1 1"
is "whole: trace id's bytes" "$(grep -c 'trace=ab0000000000000000000000000000cd tag0=1' "$out/answer")" -eq 1

tiny "$VICTIM" fork 100
is "fork: status" $? -eq 0
is "fork: a session each" "$(grep -c ^session "$out/answer")" -eq 2
is "fork: child's own session" "$(sum child_sessions)" -eq 1
is "fork: context goes along" "$(span 7)" -gt 2
books fork

tiny "$VICTIM" rawfork 100
is "raw clone: status" $? -eq 0
is "raw clone: parent's context stays" "$(span bad)" -gt 2
books rawfork

tiny "$VICTIM" forkthread 60
is "fork, then threads: status" $? -eq 0
is "fork, then threads: all sampled" "$(span 100)" -gt 2
books forkthread

tiny -b 3 "$VICTIM" threads 8 30
is "budget: threads without timer" "$(sum threads_no_timer)" -ge 5
books budget

tiny -s 64 "$VICTIM" crowd 100
is "crowd: status" $? -eq 0
is "crowd: some found no slot" "$(sum context_slotless)" -gt 0
is "crowd: at most 64" "$(sum slots_high)" -eq 64
books crowd

tiny -n -r 32768 "$VICTIM" burn 300
is "full ring: counted" "$(sum ring_full)" -gt 0
books "full ring"

tiny -x 100 "$VICTIM" burn 2000
is "stop: status" $? -eq 0
is "stop: fewer samples than the whole 2 s would have" "$(sum samples)" -lt 200
is "stop: timer is gone" "$(sum timers)" -eq 0
books stop

# Signals as fast as a second core can queue them, into writes as fast as they go.
tiny -r 8388608 "$VICTIM" hammer 1000
is "hammer: status" $? -eq 0
is "hammer: many samples" "$(sum samples)" -gt 30
is "hammer: some hit a write" "$(sum ctx_busy)" -gt 0
is "hammer: and are counted" "$(sum ctx_busy)" -eq "$(sum ctx_being_written)"
is "hammer: never a mix" "$(sum mixed)" -eq 0
is "hammer: never a bad checksum" "$(sum ctx_bad_checksum)" -eq 0
books hammer

tiny -a "$VICTIM" burn 30
is "refused: runs on" $? -eq 0

exit $failed
