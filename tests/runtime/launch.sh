#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LD_PRELOAD=libweft.so WEFT_RECORD=FILE: a collector that begins by itself.
. "$(dirname "$0")/lib.sh"
mkdir "$out/meet"
export WEFT_DIR=$out/meet WEFT_COMMAND=$WEFT

# samples FILE: all that it holds.
samples() {
	"$WEFT" report --by span --json "$1" 2>>"$out/errors" | sed -n 's/^  "samples": *\([0-9]*\).*/\1/p'
}

# A pipeline must end, and the file be complete when the program has.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=$out/a.jfr timeout 30 "$VICTIM" threads 3 300 | cat
is "complete at exit" "$(samples "$out/a.jfr")" -gt 5
is "mode 0600" "$(stat -c %a "$out/a.jfr")" = 600

# Children join, by fork and by exec; none begins a file of its own or overwrites this one.
(cd "$out" && LD_PRELOAD=$LIBWEFT WEFT_RECORD=b.jfr timeout 30 sh -c "\"$VICTIM\" burn 300; \"$VICTIM\" fork 300; true")
is "relative path, children" "$(samples "$out/b.jfr")" -gt 10
is "one file" "$(find "$out" -name '*.jfr*' | wc -l)" -eq 2

# A program that reaps all its children gets none that it does not know.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=$out/c.jfr timeout 30 "$VICTIM" reap
is "no strange child" $? -eq 0
tries=0
while [ -n "$(ls "$out/meet")" ] && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
is "nothing left behind" "$(find "$out/meet" -mindepth 1 | wc -l)" -eq 0
exit $failed
