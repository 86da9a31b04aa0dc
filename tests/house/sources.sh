#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules that every file of the tree keeps. usage: sources.sh SOURCE
set -u
cd "$1" || exit 99
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "1..0 # skip no git tree"; exit 77; }
n=0 status=0

# none TITLE COMMAND...: the command prints no offender
none() {
	title=$1
	shift
	n=$((n + 1))
	found=$("$@" 2>&1)
	if [ -z "$found" ]; then
		echo "ok $n - $title"
		return
	fi
	status=1
	echo "not ok $n - $title"
	echo "$found" | head -n 30 | sed 's/^/# /'
}

files() {
	git ls-files -co --exclude-standard -- "$@" | while read -r f; do
		[ ! -f "$f" ] || echo "$f"
	done
}

machine_paths() {
	files | grep -v '^LICENSE$' | xargs grep -InE '(^|[^A-Za-z0-9_.~-])/(work|root|home)/' -- |
		grep -v '^tests/house/sources.sh:'
}

unlicensed() {
	files '*.c' '*.h' '*.cpp' '*.hpp' '*.sh' '*.bats' '*.bash' 'tools/*' 'Makefile' '.ci/*' |
		xargs grep -L 'SPDX-License-Identifier: Apache-2.0' --
}

long_lines() {
	files '*.c' '*.h' | xargs awk '/clang-format off/ { off = 1 } /clang-format on/ { off = 0 }
		FNR == 1 { off = 0 } !off && length($0) > 120 { print FILENAME ":" FNR }'
}

long_files() { files '*.c' '*.h' | xargs awk 'FNR > 800 { print FILENAME; nextfile }'; }

# A function's body opens and closes in the first column.
long_functions() {
	files '*.c' | xargs awk '/^\{/ { start = FNR } /^\}/ { if (start && FNR - start > 60)
		print FILENAME ":" start ": " FNR - start " lines"; start = 0 }'
}

# Which rooms of src/ a room may include from; its own goes without saying (rooms.py has the rooms
# within).
rooms=$(sed -n 's/^\([a-z]*:[a-z ]*\)|.*/\1/p' docs/rooms.txt)

wrong_way() {
	files 'src/*.c' 'src/*.h' | while read -r f; do
		room=${f#src/} room=${room%%/*}
		allowed=" weft $room $(echo "$rooms" | sed -n "s/^$room://p") "
		sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$f" | while read -r from; do
			case $allowed in *" $from "*) ;; *) echo "$f includes from $from/" ;; esac
		done
	done
}

mapped_elf() {
	files 'src/*.c' | grep -v '^src/elf/image/image.c$' |
		xargs grep -nE 'elf_begin\(|ELF_C_READ_MMAP' --
}

none "no path of the machine that a file was written on" machine_paths
none "every source names its licence" unlicensed
none "no line is far too long" long_lines
none "no file holds two rooms (800 lines)" long_files
none "no function is longer than 60 lines" long_functions
none "rooms depend in one direction" wrong_way
none "ELF files are opened in one place, and not mapped" mapped_elf

echo "1..$n"
exit $status
