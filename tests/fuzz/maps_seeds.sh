#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_maps: a process as it is, and the names of OTEL_CTX in all spellings.
#	maps_seeds.sh DIRECTORY
set -eu
cat /proc/self/maps >"$1/self"
{
	echo '7f37a1c14000-7f37a1c15000 rw-p 00000000 00:01 24   /memfd:OTEL_CTX (deleted)'
	echo '7f37a1c15000-7f37a1c16000 rw-p 00000000 00:00 0   [anon:OTEL_CTX]'
	echo '7f37a1c16000-7f37a1c17000 rw-p 00000000 00:01 24   [anon_shmem:OTEL_CTX]'
	echo '7f37a1c17000-7f37a1c18000 rw-p 00000000 00:01 24   /memfd:OTEL_CTX_BACKUP (deleted)'
	printf '7f37a1c18000-7f37a1c19000 r-xp 00001000 08:02 77   /tmp/a\\012b\n'
} >"$1/otel"
