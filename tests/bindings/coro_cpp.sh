#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings/cpp/weft_coro.hpp by two compilers, optimised and not, with all warnings as errors, with
# nothing of weft linked; by ThreadSanitizer. usage: coro_cpp.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0
unset CTP_SHM_PATH CTP_SOCK_PATH CTP_MAX_STATIONS

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
	-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wcast-qual -Wnull-dereference
	-Wdouble-promotion -Wformat=2 -Wundef -Werror"

# As it is installed: beside the C headers, which are C, and so not for all of these warnings.
mkdir -p "$scratch/include/weft"
cp "$source"/bindings/cpp/*.hpp "$scratch/include/weft"

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		status=1
		echo "not ok $n - $2"
		sed 's/^/# /' "$scratch/log"
	fi
}

# compiled COMPILER FLAGS WHAT [LIBRARIES]
compiled() {
	# shellcheck disable=SC2086
	"$1" -std=c++20 $warnings $2 -I"$scratch/include" -isystem "$source/include" \
		-o "$scratch/coroutines" "$source/tests/bindings/coro/coroutines.cpp" \
		-pthread ${4-} >"$scratch/log" 2>&1
	result $? "$1 $3: compiles"
}

ran() {
	rm -f "$scratch/log"
	LD_LIBRARY_PATH=$libraries timeout 120 "$scratch/coroutines" >"$scratch/log" 2>&1
	result $? "$1"
	[ "$(grep -c '^ok' "$scratch/log")" -ge 57 ]
	result $? "$1: all of it"
}

for compiler in g++ clang++; do
	command -v $compiler >/dev/null || { n=$((n + 1)); echo "ok $n # skip no $compiler"; continue; }
	for level in -O0 -O2; do
		compiled $compiler $level $level
		ran "$compiler $level"
	done
	# gcc says that it does not follow fences: they are the shared file's, which has one writer here
	quiet=
	[ $compiler != g++ ] || quiet=-Wno-error=tsan
	compiled $compiler "-O1 -g -fsanitize=thread $quiet" TSan
	ran "$compiler, TSan"
	compiled $compiler -O2 "with libweft" "-L$libraries -lweft"
	ran "$compiler, with libweft"
	for how in "-Wall -Wextra -Wconversion -Wshadow -Werror" "-fno-exceptions -fno-rtti $warnings"; do
		# shellcheck disable=SC2086
		printf '#include <weft/weft_coro.hpp>\n#include <weft/weft_coro.hpp>\n' |
			$compiler -std=c++20 $how -I"$scratch/include" -isystem "$source/include" \
				-x c++ -fsyntax-only - >"$scratch/log" 2>&1
		result $? "$compiler, the header alone, ${how%% *}"
	done
done
echo "1..$n"
exit $status
