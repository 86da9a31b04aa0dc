#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# elf.sh SOURCE LIBRARY [LIBWEFT...]: what the Custom Labels ABI asks of a library, read from its
# dynamic section: of the one that was built, and built anew by each compiler there is, plain and
# stripped. And that no LIBWEFT exports any of it.
set -u
export LC_ALL=C
source=$1 library=$2
shift 2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

check() { # TEXT COMMAND...
	text=$1
	shift
	n=$((n + 1))
	if "$@" >"$scratch/log" 2>&1; then
		echo "ok $n - $text"
	else
		status=1
		echo "not ok $n - $text"
		sed 's/^/# /' "$scratch/log"
	fi
}

# SYMBOL -> "TYPE BIND VISIBILITY SIZE" in .dynsym, defined
symbol() {
	readelf -W --dyn-syms "$file" | awk -v name="$1" '$8 == name && $7 != "UND" {
		print $4, $5, $6, $3 }'
}
version_symbol() { symbol custom_labels_abi_version; [ "$(symbol custom_labels_abi_version)" = "OBJECT GLOBAL DEFAULT 4" ]; }
version_value() { # the word in the file, by the section that holds it
	at=$(readelf -W --dyn-syms "$file" | awk '$8 == "custom_labels_abi_version" { print $2 }')
	readelf -W -S "$file" | sed 's/\[ */[/' | awk '$1 ~ /^\[[0-9]+\]$/ { print $4, $5, $6 }' |
		while read -r address offset size; do
			[ $((0x$at >= 0x$address && 0x$at < 0x$address + 0x$size)) = 1 ] || continue
			[ "$((0x$address))" -gt 0 ] || continue
			od -An -tu4 -j $((0x$at - 0x$address + 0x$offset)) -N 4 "$file"
		done >"$scratch/value"
	cat "$scratch/value"
	[ "$(tr -d ' \n' <"$scratch/value")" = 1 ]
}
current_symbol() { symbol custom_labels_current_set; [ "$(symbol custom_labels_current_set)" = "TLS GLOBAL DEFAULT 8" ]; }
descriptor() { # the one relocation that names it is a TLS descriptor, with nothing added
	readelf -W -r "$file" | awk '$5 == "custom_labels_current_set" || $4 ~ /TLS|TPOFF|TPREL|DTP/ { print $3, $5, $6, $7 }' >"$scratch/relocations"
	cat "$scratch/relocations"
	grep -cqxE 'R_(X86_64|AARCH64)_TLSDESC custom_labels_current_set \+ 0' "$scratch/relocations" &&
		[ "$(wc -l <"$scratch/relocations")" = 1 ]
}
now() { readelf -W -d "$file" | grep -q 'FLAGS.*NOW'; }
file_name() { # as readers look for it
	readelf -W -d "$file" | grep SONAME
	soname=$(readelf -W -d "$file" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
	echo "/$soname" | grep -qE '/libcustomlabels.*\.so$'
}
libc_alone() {
	readelf -W -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$scratch/needed"
	cat "$scratch/needed"
	! grep -vE '^(libc|libdl|ld-linux.*|libgcc_s)\.so' "$scratch/needed"
}
whole_interface() {
	sed -n 's/.*\(custom_labels_[a-z_]*\)(.*/\1/p' "$source/include/customlabels-weft/customlabels.h" |
		grep -v '^custom_labels_labelset' | sort -u >"$scratch/declared"
	readelf -W --dyn-syms "$file" | awk '$4 == "FUNC" && $7 != "UND" { print $8 }' | sort -u >"$scratch/defined"
	diff "$scratch/declared" "$scratch/defined" && [ "$(wc -l <"$scratch/defined")" = 15 ]
}

judge() { # TITLE FILE
	file=$2
	check "$1: the version is an object of 4 bytes" version_symbol
	check "$1: and is 1" version_value
	check "$1: the current set is thread-local, 8 bytes" current_symbol
	check "$1: reached by a TLS descriptor that names it" descriptor
	check "$1: relocated at once" now
	check "$1: its name is one that readers look for" file_name
	check "$1: needs libc alone" libc_alone
	check "$1: exports the whole interface" whole_interface
}

build() { # COMPILER FLAG...
	"$@" -std=gnu11 -D_GNU_SOURCE -shared -fPIC -fvisibility=hidden -I"$source/include" \
		-I"$source/include/customlabels-weft" -I"$source/src" -o "$scratch/built.so" \
		"$source"/src/customlabels/*.c -Wl,-soname,libcustomlabels-weft.so \
		-Wl,-z,now,-z,defs -ldl
}

judge built "$library"
strip -o "$scratch/stripped.so" "$library" && judge stripped "$scratch/stripped.so"
for how in "gcc -O2" "gcc -O0" "clang -O2" "clang -O0" "aarch64-linux-gnu-gcc -O2"; do
	command -v "${how%% *}" >/dev/null || continue
	rm -f "$scratch/built.so"
	# shellcheck disable=SC2086
	check "$how: builds" build $how
	[ -f "$scratch/built.so" ] && judge "$how" "$scratch/built.so"
done
if command -v clang >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
	root=$(aarch64-linux-gnu-gcc -print-sysroot) && [ -d "$root/usr/include" ] ||
		root=/usr/aarch64-linux-gnu
	for c in "$source"/src/customlabels/*.c; do
		clang --target=aarch64-linux-gnu --sysroot="$root" -isystem "$root/include" -std=gnu11 \
			-D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden -I"$source/include" -I"$source/src" \
			-I"$source/include/customlabels-weft" -c "$c" -o "$scratch/$(basename "$c").o"
	done 2>"$scratch/clang.log"
	check "clang for aarch64: builds" aarch64-linux-gnu-gcc -shared "$scratch"/*.c.o \
		-o "$scratch/arm.so" -Wl,-soname,libcustomlabels-weft.so -Wl,-z,now,-z,defs -ldl
	judge "clang for aarch64" "$scratch/arm.so"
fi

no_symbols() { # readers would take it for the program
	nm -D --defined-only "$1" | grep ' custom_labels_' && return 1
	nm -D --defined-only "$1" | grep -q ' weft_runtime_v1$'
}
for other; do
	check "$(basename "$other") exports none of it" no_symbols "$other"
done
echo "1..$n"
exit $status
