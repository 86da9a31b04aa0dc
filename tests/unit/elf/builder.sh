#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: builder.sh PROGRAM: tables of other sources are others'; of the same, the same.
set -eu
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
echo 'int a;' >"$d/a.c"
echo 'int b;' >"$d/b.c"
first=$("$1" "$d/a.c" "$d/b.c")
[ "$first" = "$("$1" "$d/a.c" "$d/b.c")" ]
echo "$first" | grep -qE '^#define TABLE_BUILDER_SOURCES UINT32_C\([0-9]+\)$'
echo 'int c;' >"$d/b.c"
[ "$first" != "$("$1" "$d/a.c" "$d/b.c")" ]
