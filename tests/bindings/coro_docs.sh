#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The snippets of docs/coro-probe.md compile, each by itself, with warnings as errors.
# usage: coro_docs.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

mkdir -p "$scratch/include/weft" "$scratch/snippets"
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

# Each fenced block, by its language: snippets/N.c, N.cpp, N.rust
awk -v to="$scratch/snippets/" '
	/^```[a-z]/ { file = to (++n) "." substr($0, 4); next }
	/^```/ { file = ""; next }
	file { print > file }' "$source/docs/coro-probe.md"
for language in c cpp rust; do
	ls "$scratch/snippets"/*.$language >"$scratch/log" 2>&1
	result $? "there are snippets of $language"
done

# compiles FILE COMPILER FLAGS...
compiles() {
	file=$1
	shift
	command -v "$1" >/dev/null || return 0
	"$@" -Wall -Wextra -Wconversion -Wshadow -Werror -isystem "$source/include" \
		-I"$scratch/include" -c -o "$scratch/out.o" "$file" >"$scratch/log" 2>&1
	result $? "$(basename "$file") by $1"
}

for file in "$scratch"/snippets/*.c; do
	compiles "$file" gcc -std=gnu11
	compiles "$file" clang -std=gnu11
done
for file in "$scratch"/snippets/*.cpp; do
	compiles "$file" g++ -std=c++20
	compiles "$file" clang++ -std=c++20
done
if cargo --version >/dev/null 2>&1; then
	cp -r "$source/bindings/rust" "$scratch/crate" && rm -rf "$scratch/crate/target"
	for file in "$scratch"/snippets/*.rust; do
		cp "$file" "$scratch/crate/examples/snippet$(basename "$file" .rust).rs"
	done
	(
		cd "$scratch/crate" || exit 1
		export CARGO_TARGET_DIR="$scratch/target" WEFT_LIB_DIR="$libraries"
		export WEFT_INCLUDE_DIR="$source/include" RUSTFLAGS="-D warnings"
		cargo check --offline -q --examples
	) >"$scratch/log" 2>&1
	result $? "those of Rust"
fi
echo "1..$n"
exit $status
