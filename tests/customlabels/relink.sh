#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# relink.sh SOURCE LIBRARY LIBWEFT: programs written for the Custom Labels library, in C, C++ and
# Rust, built against our header and library, and run: alone, and with libweft.so in the process
# in either order.
set -u
source=$1 library=$2 libweft=$3
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0
directory=$(dirname "$library")

check() { # TEXT COMMAND...
	text=$1
	shift
	n=$((n + 1))
	if "$@" >"$scratch/log" 2>&1; then
		echo "ok $n - $text"
	else
		status=1
		echo "not ok $n - $text"
		sed 's/^/# /' "$scratch/log" | grep -v '^# ok'
	fi
}

compile() { # COMPILER FLAG...
	"$@" -O2 -Wall -Wextra -Werror -I"$source/include/customlabels-weft" -o "$scratch/program" \
		"$scratch/program.$suffix" -pthread -L"$directory" -lcustomlabels-weft
}

passes() { # COMMAND...
	LD_LIBRARY_PATH=$directory "$@" && ! grep -q '^not ok' "$scratch/log"
}

run() { # WHAT
	check "$1: runs" passes "$scratch/program"
	check "$1: runs with weft preloaded" passes env LD_PRELOAD="$libweft" "$scratch/program"
	check "$1: runs with the library before it, then weft" \
		passes env LD_PRELOAD="$library:$libweft" "$scratch/program"
}

cp "$source/tests/customlabels/program.c" "$scratch/program.c"
cp "$source/tests/customlabels/program.c" "$scratch/program.cpp"
for how in "gcc -std=c99 -D_GNU_SOURCE" "clang -std=c11 -D_GNU_SOURCE" "g++ -std=c++11" \
	"clang++ -std=c++17"; do
	command -v "${how%% *}" >/dev/null || continue
	suffix=c
	case $how in *c++*) suffix=cpp ;; esac
	rm -f "$scratch/program"
	# shellcheck disable=SC2086
	check "$how: builds" compile $how
	run "${how%% *}"
done
if command -v rustc >/dev/null; then
	rm -f "$scratch/program"
	check "rustc: builds" rustc -O -D warnings -A dead_code -L "$directory" -o "$scratch/program" \
		"$source/tests/customlabels/program.rs"
	run rustc
fi
echo "1..$n"
exit $status
