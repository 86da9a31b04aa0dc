#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ids and labels that are set through one copy of the runtime are seen by the other, by the guards
# of C++ and Rust: libweft.so is there first (preloaded), or the libweft.a that is linked in.
# usage: copies.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
. "$source/tests/steps.sh"
within="timeout 300"
export LD_LIBRARY_PATH="$libraries"

ended() {
	n=$((n + 1))
	if grep -qx "$2" "$scratch/log"; then
		echo "ok $n - $1: all of it"
	else
		status=1
		echo "not ok $n - $1: no line '$2'"
	fi
}

# A preloaded library comes before the program; one that a plugin needs comes late, and finds the
# copy that is linked in when the program exports it.
both_orders() {
	step "$1: libweft.so first" env LD_PRELOAD="$libraries/libweft.so" "$2" "$scratch/plugin.so"
	ended "$1" "$3"
	step "$1: libweft.a first" "$2" "$scratch/plugin.so"
	ended "$1" "$3"
}

mkdir -p "$scratch/include/weft"
cp "$source/bindings/cpp/weft.hpp" "$scratch/include/weft"
room=$source/tests/bindings/copies
command -v g++ >/dev/null || { echo "1..0 # skip no g++"; exit 77; }
compile="g++ -std=c++17 -O2 -Wall -Wextra -Werror -I$source/include -I$scratch/include"
# shellcheck disable=SC2086
step "plugin" $compile -shared -fPIC -o "$scratch/plugin.so" "$room/plugin.cpp" \
	-L"$libraries" -lweft
# shellcheck disable=SC2086
step "host in C++" $compile -o "$scratch/host" "$room/host.cpp" "$libraries/libweft.a" \
	-pthread -ldl -Wl,--export-dynamic-symbol=weft_runtime_v1
both_orders "C++" "$scratch/host" "1..19"

if cargo --version >/dev/null 2>&1; then
	cp -r "$source/bindings/rust" "$scratch/crate"
	cp "$room/host.rs" "$scratch/crate/examples"
	export CARGO_TARGET_DIR="$scratch/target" WEFT_LIB_DIR="$libraries" WEFT_STATIC=1
	export WEFT_INCLUDE_DIR="$source/include"
	step "host in Rust" cargo build --offline -q --example host \
		--manifest-path "$scratch/crate/Cargo.toml"
	unset WEFT_STATIC
	both_orders "Rust" "$scratch/target/debug/examples/host" "all of it"
else
	n=$((n + 1))
	echo "ok $n # skip no cargo"
fi
finish
