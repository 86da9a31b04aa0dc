#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: builder.sh SOURCE...
# A header that tells the tables of these sources from those of any others: no table that an
# older builder left in a cache is believed, and nobody has to remember to count a version up.
set -eu
sum=$(cat "$@" | cksum)
echo "#define TABLE_BUILDER_SOURCES UINT32_C(${sum%% *})"
