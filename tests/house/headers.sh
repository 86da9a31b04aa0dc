#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, twice over, as C11, C++11 and C++17, by gcc and by clang.
# usage: headers.sh SOURCE
include=$1/include
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

# check COMPILER LANGUAGE STANDARD HEADER
check() {
	n=$((n + 1))
	name="$n - $4 as $3 by $1"
	command -v "$1" >/dev/null || { echo "ok $name # skip no $1"; return; }
	printf '#include <%s>\n#include <%s>\nint weft_test_unit;\n' "$4" "$4" |
		"$1" -x "$2" -std="$3" -Wall -Wextra -Wundef -pedantic -Werror -I"$include" \
			-fsyntax-only - 2>"$scratch/log" && { echo "ok $name"; return; }
	status=1
	echo "not ok $name"
	sed 's/^/# /' "$scratch/log"
}

for header in $(cd "$include" && find weft customlabels-weft -name '*.h' | sort); do
	check gcc c c11 "$header"
	check clang c c11 "$header"
	for standard in c++11 c++17; do
		check g++ c++ $standard "$header"
		check clang++ c++ $standard "$header"
	done
done
echo "1..$n"
[ $n -gt 0 ] && exit $status
