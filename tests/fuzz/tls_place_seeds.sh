#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for the targets over liar.h: maps of a program and a library, memory that begins as an
# ELF file does and goes on with words that look like pointers into it; 31 inodes further on it
# begins anew.
#	tls_place_seeds.sh DIRECTORY
set -eu

maps() {
	echo '000000400000-000000403000 rw-p 00000000 08:02 31   /bin/program'
	echo '7f0000000000-7f0000002000 rw-p 00000000 08:02 62   /lib/libcustomlabels-x.so'
	echo '7f0000010000-7f0000011000 r-xp 00000000 08:02 93   /lib/libc.so.6'
	echo '7f0000020000-7f0000021000 rw-p 00000000 00:01 24   /memfd:OTEL_CTX (deleted)'
}

word() { # NUMBER: eight bytes, little endian
	n=$1
	for _ in 1 2 3 4 5 6 7 8; do
		printf '%b' "\\0$(printf %o $((n & 255)))"
		n=$((n >> 8))
	done
}

short() { # NUMBER: two bytes
	printf '%b' "\\0$(printf %o $(($1 & 255)))\\0$(printf %o $(($1 >> 8)))"
}

words=$(mktemp)
trap 'rm -f "$words"' EXIT
for second in -64 139637976793152 139637976793216 5; do
	for _ in 1 2; do
		word 139637976727552
		word $second
	done >"$words"
	for choice in 0 1 2 3 4 5 6 7; do
		{
			printf '%b' "\\0$choice"
			short "$(maps | wc -c)"
			maps
			printf '\177ELF\002\001\001\0\0\0\0\0\0\0\0\0'
			for _ in $(seq 15); do
				cat "$words"
			done
		} >"$1/$choice$second"
	done
done
