#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# drop_lines.sh INPUT OUTPUT COUNT LINE [COUNT LINE]...: copies INPUT without the lines that
# are exactly LINE (but for the white space before it). Each must be there COUNT times: else
# the source has moved on, and a test of its absence would test nothing.
set -eu
input=$1 output=$2
shift 2
cp "$input" "$output"
while [ $# -gt 0 ]; do
	found=$(sed 's/^[ \t]*//' "$output" | grep -cxF -- "$2" || true)
	[ "$found" = "$1" ] || { echo "$input: $found times, not $1: $2" >&2; exit 1; }
	LINE=$2 awk '{ text = $0; sub(/^[ \t]+/, "", text) } text != ENVIRON["LINE"]' \
		"$output" >"$output.new"
	mv "$output.new" "$output"
	shift 2
done
