#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Alternate signal stacks that hold one signal and no second: the program survives, sampled at a
# thousand a second, and sees its own actions and masks as it set them.
. "$(dirname "$0")/lib.sh"

survives() { # NAME PROGRAM
	for kind in least room; do
		tiny -p 1000000 "$2" $kind 400
		is "$1, $kind: status" $? -eq 0
		is "$1, $kind: said so" "$(head -n 1 "$out/answer")" = "done"
		is "$1, $kind: sampled" "$(sum samples)" -gt 20
		is "$1, $kind: the time in handlers is not lost" "$(sum weight)" -gt 200
		books "$1, $kind"
	done
}

survives "small stack" "$SMALL_STACK"
if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 "$SOURCE_ROOT/tests/runtime/small_stack.c" -o "$out/musl"
	survives musl "$out/musl"
fi
exit $failed
