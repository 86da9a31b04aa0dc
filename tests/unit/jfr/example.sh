#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example of docs/jfr.md does what the page says.  usage: example.sh PROGRAM PAGE
set -eu
dir=$(mktemp -d /tmp/weft-example-XXXXXX)
trap 'rm -rf "$dir"' EXIT
said=$(sed -n 's/^It prints `\([^`]*\)`.*/\1/p' "$2")
[ -n "$said" ] || { echo "$2 does not say what the example prints"; exit 1; }
printed=$("$1" "$dir/example.jfr")
[ "$printed" = "$said" ] || { echo "found    $printed"; echo "expected $said"; exit 1; }
