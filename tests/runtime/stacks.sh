#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks that the handler walks, on every kind of stack, in every mode: its walk and the
# collector's of the same sample are equal, and what cannot be walked is copied and counted.
. "$(dirname "$0")/lib.sh"

# some WHAT KEY: above 0.
some() {
	is "$1" "$(sum "$2")" -gt 0
}

# alike WHAT: of the samples whose frames could be compared none differs.
alike() {
	is "$1: status" $? -eq 0
	is "$1: different" "$(sum different)" -eq 0
	books "$1"
}

# both WHAT: the same, and there were such samples.
both() {
	alike "$1"
	some "$1: walked" walked
	some "$1: equal" equal
}

check() {
	tiny -S check -c 32768 "$@"
}

check "$STACKS" deep 150
both deep
is "deep: all of them outermost" "$(sum end_outermost)" -eq "$(sum walked)"
check "$STACKS" threads 100
both threads
is "threads: all of them outermost" "$(sum end_outermost)" -eq "$(sum walked)"
# Below its first function a makecontext stack has garbage, which no unwind data of glibc tells.
tiny -S table "$STACKS" known 100
is "known coroutine: status" $? -eq 0
is "known coroutine: walked" "$(sum walked)" -eq "$(sum samples)"
is "known coroutine: deep" "$(sum frames)" -gt $((4 * $(sum walked)))
is "known coroutine: never read by a system call" "$(sum stack_self_read)" -eq 0
check "$STACKS" jump 150
both "siglongjmp out of handlers"
# shellcheck disable=SC2086
check "$STACKS" plugins 200 $PLUGINS
# No map holds for long: it may be that all of them are copied.
alike "dlopen and dlclose in turn"
check "$VICTIM" threads 5 60
both "five threads"
check "$VICTIM" fork 100
both fork
check "$VICTIM" chain 20
both "execs in a chain"

# The copy of an alternate stack ends at the signal frame; the handler's walk goes on.
check "$STACKS" alt 150
is "alternate stack: status" $? -eq 0
some "alternate stack: walked on below the signal frame" partial
is "alternate stack: different" "$(sum different)" -eq 0
is "alternate stack: outermost" "$(sum end_outermost)" -eq "$(sum walked)"

tiny -S auto "$STACKS" deep 150
is "auto: status" $? -eq 0
some "auto: walked" stack_walked
is "auto: copied only before there was a map" "$(sum stack_copied)" -eq "$(sum copied_no_map)"
is "auto: each once" "$(($(sum stack_walked) + $(sum stack_copied)))" -eq "$(sum samples)"
is "auto: to the outermost frame" "$(sum end_outermost)" -eq "$(sum walked)"
is "auto: no system call on a stack" "$(sum stack_self_read)" -eq 0
books auto
tiny -S auto "$STACKS" coro 100
# Samples under c0 are of the way there or back: on either stack. Those before it are on a known one.
is "unknown stack: samples" "$(span c1)" -gt 2
is "unknown stack: copied by one call, each" "$(sum stack_self_read)" -ge "$(span c1)"
is "unknown stack: ... and no other" "$(sum stack_self_read)" -le "$(($(span c0) + $(span c1)))"
is "unknown stack: not walked" "$(($(sum stack_walked) + $(span c1)))" -le "$(sum samples)"
tiny -S auto -T "$STACKS" deep 60
is "no tables: status" $? -eq 0
is "no tables: copied" "$(sum copied_no_map)" -eq "$(sum samples)"
is "no tables: samples" "$(sum samples)" -gt 2
tiny -S auto -r 32768 -c 32768 -n "$STACKS" deep 400
is "ring full: status" $? -eq 0
books "ring full"

tiny -S table "$STACKS" deep 100
is "table: status" $? -eq 0
is "table: never a copy" "$(sum copied) $(sum stack_copied)" = "0 0"
is "table: all walked" "$(sum walked)" -eq "$(sum samples)"
is "table: outermost, or no map yet" "$(($(sum end_outermost) + $(sum end_no_module)))" -eq "$(sum walked)"
some "table: outermost" end_outermost
tiny -S table "$STACKS" coro 60
is "table, unknown stack: samples" "$(span c1)" -gt 2
is "table, unknown stack: the pc alone" "$(span_frames c1)" -eq "$(span c1)"
is "table, unknown stack: counted by the handler" "$(sum cut_no_bounds)" -ge "$(span c1)"
is "table, unknown stack: ... and no other" "$(sum cut_no_bounds)" -le "$(($(span c0) + $(span c1)))"
is "table, unknown stack: never read" "$(sum stack_self_read)" -eq 0
books "table, unknown stack"

tiny -S fp -T "$VICTIM_FP" burn 100
is "fp: status" $? -eq 0
is "fp: needs no tables, copies nothing" "$(sum walked)" -eq "$(sum samples)"
is "fp: callers are found" "$(sum frames)" -gt $((2 * $(sum samples)))
books fp

# B lies where A was, and the map still says A: the loader knows better.
# shellcheck disable=SC2086
tiny -S auto -z libplugin24 "$STACKS" swap 150 $PLUGINS
code=$?
if [ $code -ne 3 ]; then
	is "stale map: status" $code -eq 0
	some "stale map: copied instead" copied_stale_map
	is "stale map: flagged" "$(sum stale)" -eq "$(sum copied_stale_map)"
	is "stale map: all that was walked is whole" "$(sum end_outermost)" -eq "$(sum walked)"
	# shellcheck disable=SC2086
	tiny -S table -z libplugin24 "$STACKS" swap 150 $PLUGINS
	some "stale map, no copies: flagged" stale
	is "stale map, no copies: cut" "$(sum end_no_module)" -ge "$(sum stale)"
fi

# Twins: even the loader cannot tell them apart, but one was closed.
# shellcheck disable=SC2086
tiny -S auto -z libplugin24 "$STACKS" swap 150 $TWINS
code=$?
if [ $code -ne 3 ]; then
	is "twins: status" $code -eq 0
	some "twins: copied instead" copied_stale_map
	is "twins: all that was walked is whole" "$(sum end_outermost)" -eq "$(sum walked)"
fi
# shellcheck disable=SC2086
check "$STACKS" swap 150 $TWINS
both "twins, with a map that follows"

# Limits of the program's own.
tiny -S auto "$STACKS" locked 100
code=$?
is "mlockall: holes of the tables stay out: $(grep ^tables "$out/answer")" $((code == 0 || code == 77)) -eq 1
is "mlockall: walked" $((code == 77 || $(sum walked) > 0)) -eq 1
(ulimit -v 4000000 && tiny -s 384 -S auto "$STACKS" deep 100)
is "RLIMIT_AS 4 GB: status" $? -eq 0
some "RLIMIT_AS 4 GB: the first tables are reached" walked
(ulimit -v 1000000 && tiny -s 64 -S auto "$STACKS" deep 100)
is "RLIMIT_AS 1 GB: status" $? -eq 0
is "RLIMIT_AS 1 GB: raw" "$(sum stack_copied)" -eq "$(sum samples)"
some "RLIMIT_AS 1 GB: sampled" samples

# How much of a signal stack the handler takes, less what the kernel and an empty one take.
for mode in auto fp raw check; do
	tiny -S $mode "$STACKS" painted 150
	is "painted, $mode: status" $? -eq 0
	depth=$(awk '$1 == "ours" { print $2 - $4 }' "$out/answer")
	echo "handler's own stack, $mode: $depth bytes"
	is "painted, $mode: sampled" "$(sum samples)" -gt 2
	is "painted, $mode: at most 1 KiB" "$depth" -le 1024
	is "painted, $mode: seen at all" "$depth" -gt 100
done
exit $failed
