#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The walker runs in signal handlers of strangers: it may need no symbol but its own.
#	needs_nothing.sh LIBRARY
set -eu
needed=$(nm -u "$1" | awk '$1 == "U" && $2 !~ /^unwind_/ { print $2 }' | sort -u)
case $needed in
*__asan* | *__ubsan* | *__tsan*)
	exit 77
	;;
esac
[ -z "$needed" ] || { echo "needed: $needed"; exit 1; }
# what is looked at is the right thing
nm "$1" | grep -q ' T unwind_walk$'
