#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archive.sh OUTPUT OBJCOPY AR CC... -- ARCHIVE...: one archive of one object, in which only what is
# exported is global. What files share among themselves is no name in a program that is linked
# with it.
set -e
out=$1 objcopy=$2 ar=$3
shift 3
object=$out.o
cc=
while [ "$1" != -- ]; do
	cc="$cc $1"
	shift
done
shift
# shellcheck disable=SC2086
$cc -r -nostdlib -o "$object" -Wl,--whole-archive "$@" -Wl,--no-whole-archive
"$objcopy" --localize-hidden "$object"
rm -f "$out"
"$ar" rcs "$out" "$object"
rm -f "$object"
