#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_table_cache: those of fuzz_table are tables already.
#	table_cache_seeds.sh DIRECTORY
set -eu
"${TABLE_SEEDS:?}" "$1"
rm "$1/recipe"
printf '\001' | dd of="$1/own" bs=1 conv=notrunc 2>/dev/null
printf '\000' >"$1/empty"
