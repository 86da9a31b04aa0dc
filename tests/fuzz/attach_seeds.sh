#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sessions that are sound when they are looked at, and change while they are recorded; and some
# that are spoilt before.
#	attach_seeds.sh DIRECTORY
set -eu
printf '\000' >"$1/sound"
{ printf '\000' && seq 1 300; } >"$1/changing"
{ printf '\004' && seq 1 200; } >"$1/spoilt"
printf '\377\000\000\000\004aaaa' >"$1/elsewhere"
