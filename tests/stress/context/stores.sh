#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stores.sh STORES_OBJECT CONTEXT_OBJECT STORE_OBJECT OBJDUMP: reads aarch64 machine code. A thread's own
# handler and x86-64's cores see stores in order whatever the compiler made of them; other
# cores of aarch64 only if each is a store-release. So: the inline writes of weft/context.h
# store to the slot by stlr alone, in the order of the protocol, the out-of-line ones by
# stlr alone; and none has a barrier. Labels: what is written into the hidden set comes behind a
# barrier, so that it is not seen before the set was hidden, and before the released flip.
set -u
export LC_ALL=C
stores=$1 context=$2 store=$3 objdump=$4
number=0 failures=0

disassemble() { # OBJECT FUNCTION
	"$objdump" -d --no-show-raw-insn "$1" | awk -v name="<$2>:" '$2 == name { on = 1; next }
		/^$/ { on = 0 } on'
}

# Offsets in the slot that are stored to, in order. A register's offset is what was added
# to the slot's address to make it; "plain" is a store that is none of release.
offsets() {
	awk '{ sub(/\/\/.*/, ""); gsub(/[],[]/, " ") }
		$2 == "add" && $5 ~ /^#/ { offset[$3] = substr($5, 2) }
		$2 == "stlr" { printf "%s ", $4 in offset ? offset[$4] : "0x0" }
		$2 ~ /^st/ && $2 != "stlr" && !/ sp/ { printf "plain " }
		$2 ~ /^(dmb|dsb)/ { printf "barrier " }'
}

check() { # TEXT EXPECTED GOT
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1"
	else
		printf 'not ok %d - %s\n# expected: %s\n# got:      %s\n' "$number" "$1" "$2" "$3"
		failures=1
	fi
}

in_order() { # FUNCTION OFFSETS
	check "$1: in order" "$2" "$(disassemble "$stores" "$1" | offsets)"
}

# Some, and of one kind.
released() { # FUNCTION
	check "$1: released" "stlr" "$(disassemble "$context" "$1" | offsets |
		tr ' ' '\n' | sed 's/^0x.*/stlr/' | grep . | sort -u)"
}

in_order stores_set '0x10 0x0 0x8 0x10 '
in_order stores_trace '0x40 0x10 0x0 0x8 0x50 0x58 0x60 0x48 0x10 0x40 '
in_order stores_tag '0x24 0x40 '
# generation twice, formats_seq, seq, label_generation, label_set, the ABI's pointer, formats_seq, seq
in_order stores_flip 'plain plain 0x70 0x40 0x64 0x68 0x0 0x70 0x40 '
# generation twice; number and set; what differs
check "the set is shown last" "plain plain 0x64 0x68 plain " \
	"$(disassemble "$store" weft_store_commit | offsets)"
check "a barrier before the hidden set is changed" "barrier" \
	"$(disassemble "$store" weft_store_begin | offsets | tr ' ' '\n' | grep barrier | sort -u)"
released context_write_all
released context_restore
# what looks for plain stores can see one
check "a plain store is seen" plain "$(printf ' 0:\tstr\tx1, [x0]\n' | offsets | tr -d ' ')"
check "and a barrier" barrier "$(printf ' 0:\tdmb\tish\n' | offsets | tr -d ' ')"
echo "1..$number"
exit $failures
