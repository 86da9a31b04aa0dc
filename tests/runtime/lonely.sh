#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No collector, a dead one, a hostile one, hard limits: the program must not notice.
. "$(dirname "$0")/lib.sh"

"$VICTIM" threads 4 2
is "no collector" $? -eq 0
WEFT_SOCKET=$out/nothing-here "$VICTIM" threads 4 2
is "no socket" $? -eq 0
WEFT_SOCKET=$(printf '%0200d' 0) "$VICTIM" burn 2
is "overlong socket path" $? -eq 0
WEFT_RECORD=$out/x.jfr WEFT_COMMAND=/nowhere LD_PRELOAD=$LIBWEFT "$VICTIM" burn 2
is "no command to begin" $? -eq 0
WEFT_RECORD=$out/x.jfr WEFT_COMMAND=/bin/false LD_PRELOAD=$LIBWEFT "$VICTIM" burn 2
is "a collector that ends at once" $? -eq 0
(ulimit -f 1; exec "$VICTIM" threads 4 2)
is "RLIMIT_FSIZE" $? -eq 0
(ulimit -v 4000000; exec "$VICTIM" threads 4 2)
is "RLIMIT_AS" $? -eq 0
(ulimit -n 20; exec "$VICTIM" threads 4 2)
is "few descriptors" $? -eq 0
(ulimit -c 0; exec "$VICTIM" crowd 200)
is "200 threads at a time" $? -eq 0
# kill -9 of the collector: its targets run on, rings full, and end as ever.
"$TINY" -r 32768 -l "$LIBWEFT" sh -c "\"$VICTIM\" threads 6 200 & echo \$! >\"$out/pid\"; wait \$!
	echo \$? >\"$out/code\"" >/dev/null 2>&1 &
collector=$!
# its CPU time, in hundredths of a second; nothing: it is not there
used() { awk '{ print $14 + $15 }' "/proc/$(cat "$out/pid")/stat" 2>/dev/null; }
until_or_100_s() { # COMMAND...
	tries=0
	until "$@" || [ $tries -ge 1000 ]; do sleep 0.1; tries=$((tries + 1)); done
}
works() { [ -s "$out/pid" ] && [ "$(used || echo 20)" -ge 20 ]; } 2>/dev/null
until_or_100_s works
kill -9 $collector
wait $collector 2>/dev/null
until_or_100_s [ -s "$out/code" ]
is "collector killed" "$(cat "$out/code" 2>/dev/null || echo none)" = 0

# An outside reader finds the session's memfd, and in it the context.
"$VICTIM" show >"$out/shown"
is "stands in memory for outside readers" "$(cat "$out/shown")" = "memfd 1 span abc root def"
exit $failed
