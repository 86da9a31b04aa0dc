#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replace_line.sh INPUT OUTPUT LINE OTHER: copies INPUT with OTHER in place of the one line that is
# exactly LINE (but for the white space before it). It must be there once: else the source has
# moved on, and a test of a broken writer would test nothing.
set -eu
found=$(sed 's/^[ \t]*//' "$1" | grep -cxF -- "$3" || true)
[ "$found" = 1 ] || { echo "$1: $found times, not once: $3" >&2; exit 1; }
LINE=$3 OTHER=$4 awk '{ text = $0; sub(/^[ \t]+/, "", text) }
	text == ENVIRON["LINE"] { print ENVIRON["OTHER"]; next } { print }' "$1" >"$2"
