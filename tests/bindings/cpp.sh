#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings/cpp/weft.hpp by two compilers in two standards, with all warnings as errors, against
# libweft.so and libweft.a. usage: cpp.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
	-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wcast-qual -Wnull-dereference
	-Wdouble-promotion -Wformat=2 -Wundef -Werror"

# As it is installed: beside the C headers, which are C, and so not for all of these warnings.
mkdir -p "$scratch/include/weft"
cp "$source/bindings/cpp/weft.hpp" "$scratch/include/weft"

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

compiled() {
	# shellcheck disable=SC2086
	"$1" -std="$2" $3 $warnings -I"$scratch/include" -isystem "$source/include" \
		-o "$scratch/guards" "$source/tests/bindings/guards.cpp" $4 -pthread >"$scratch/log" 2>&1
	result $? "$1 -std=$2 $3, $5: compiles"
}

ran() {
	rm -f "$scratch/log"
	LD_LIBRARY_PATH=$libraries timeout 60 "$scratch/guards" >"$scratch/log" 2>&1
	result $? "$1"
	[ "$(grep -c '^ok' "$scratch/log")" -gt 40 ]
	result $? "$1: all of it"
}

for compiler in g++ clang++; do
	command -v $compiler >/dev/null || { n=$((n + 1)); echo "ok $n # skip no $compiler"; continue; }
	for standard in c++17 c++20; do
		compiled $compiler $standard -O2 "-L$libraries -lweft" libweft.so
		ran "$compiler $standard, libweft.so"
	done
	compiled $compiler c++17 "-O0 -fno-inline" "$libraries/libweft.a" libweft.a
	ran "$compiler, libweft.a"
	# shellcheck disable=SC2086
	echo '#include <weft/weft.hpp>' | $compiler -std=c++17 -fno-exceptions -fno-rtti $warnings \
		-I"$scratch/include" -isystem "$source/include" -x c++ -fsyntax-only - >"$scratch/log" 2>&1
	result $? "$compiler, no exceptions"
done

# The example is a program that can be recorded.
if command -v g++ >/dev/null; then
	# shellcheck disable=SC2086
	g++ -std=c++17 -O2 $warnings -I"$scratch/include" -isystem "$source/include" -o "$scratch/orders" \
		"$source/examples/orders.cpp" -L"$libraries" -lweft -pthread >"$scratch/log" 2>&1 &&
		LD_LIBRARY_PATH=$libraries "$scratch/orders" 20 >>"$scratch/log" 2>&1
	result $? "the example"
fi

# What is surely a mistake does not compile: guards that end at once, copies.
if command -v g++ >/dev/null; then
	for line in 'weft::span(1, 2);' 'weft::label("a", "b");' 'weft::span a(1, 2), b(a);' \
		'weft::label a("a", "b"), b(a);'; do
		echo "#include <weft/weft.hpp>
			int main() { $line }" >"$scratch/wrong.cpp"
		if g++ -std=c++17 -Wall -Werror -I"$scratch/include" -I"$source/include" \
			-c -o "$scratch/wrong.o" "$scratch/wrong.cpp" 2>"$scratch/log"; then
			echo "it compiles" >"$scratch/log"
			result 1 "refused: $line"
		else
			result 0 "refused: $line"
		fi
	done
fi
echo "1..$n"
exit $status
