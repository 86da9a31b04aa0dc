#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_otel: a payload with resource and key map, and a record of three attributes.
#	otel_seeds.sh DIRECTORY
set -eu

hex() {
	printf '%s' "$1" | tr -d ' \n' | sed 's/../&\n/g' | while read -r byte; do
		[ -z "$byte" ] || printf '%b' "\\0$(printf %o "0x$byte")"
	done
}

keys() { # a key map of two
	printf '\022\065\012\035threadlocal.attribute_key_map\022\024*\022\012\010\012\006tenant\012\006\012\004path'
}

resource() {
	printf '\012\032\012\030\012\014service.name\022\010\012\006orders'
}

record() {
	hex 0af7651916cd43dd8448eb211c80319cb7ad6b716920333101012400
	hex 001030306630363761613062613930326237
	hex 010a2f6974656d732f3a6964
	hex 020461636d65
}

put() { # NAME PAYLOAD-COMMAND...
	name=$1
	shift
	"$@" >payload
	{
		n=$(wc -c <payload)
		printf '%b' "\\0$(printf %o $((n & 255)))\\0$(printf %o $((n >> 8)))"
		cat payload
		record
	} >"$name"
}

both() {
	resource
	keys
}
cd "$1"
put both both
put keys keys
put none true
rm payload
