#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# link_stub.sh LIST OUTPUT SONAME CC...: a shared object that defines the functions of LIST,
# without versions, under the name SONAME. Only the linker ever sees it.
set -e
list=$1 out=$2 soname=$3
shift 3
sed -e 's/#.*//' -e '/^ *$/d' "$list" | while read -r name kind; do
	case $kind in
	object) echo ".type $name,%object"; echo ".size $name,8" ;;
	*) echo ".type $name,%function" ;;
	esac
	echo ".globl $name"
	echo "$name: .quad 0"
done > "$out.s"
"$@" -shared -nostdlib -Wl,-soname,"$soname" -o "$out" "$out.s"
rm -f "$out.s"
