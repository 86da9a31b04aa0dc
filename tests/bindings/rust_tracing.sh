#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The layer for Rust's tracing: its own tests, and the shares of spans in recordings of its example,
# tasks of tokio among them. Crates come from the package registry.
# usage: rust_tracing.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
weft=$libraries/../../weft
command -v jq >/dev/null || { echo "1..0 # skip no jq"; exit 77; }
cargo --version >/dev/null 2>&1 || { echo "1..0 # skip no cargo"; exit 77; }
version=$(rustc --version | cut -d' ' -f2)
[ "$(printf '1.75\n%s\n' "$version" | sort -V | head -n 1)" = 1.75 ] ||
	{ echo "1..0 # skip rustc $version is older than the crates allow"; exit 77; }
. "$source/tests/steps.sh"
. "$source/tests/bindings/shares.sh"
within="timeout 350"
unset RUSTFLAGS WEFT_STATIC LD_PRELOAD

# Cargo writes beside the sources.
cp -r "$source/bindings/rust" "$source/bindings/rust-tracing" "$scratch" && cd "$scratch/rust-tracing" || exit 99
rm -rf target ../rust/target Cargo.lock
export CARGO_TARGET_DIR="$scratch/target" WEFT_LIB_DIR="$libraries" WEFT_INCLUDE_DIR="$source/include"
# Debug information is most of what the linker has to do.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
timeout 200 cargo fetch -q >"$scratch/log" 2>&1 || { echo "1..0 # skip crates cannot be had"; exit 77; }

step "rustc $version: cargo test" env LD_LIBRARY_PATH="$libraries" cargo test --offline --features opentelemetry
step "without OpenTelemetry it builds" cargo build --offline -q --examples
within=
orders=$scratch/target/debug/examples/orders
for way in plain nested tasks; do
	step "$way: recorded" recorded "$orders" $way 2
	step "$way: shares by name" shares_agree label:span.name
	[ $way != plain ] || step "$way: shares by span" shares_agree span 3
	if [ $way = nested ]; then
		step "$way: all for one root span" all_under root "$(id_of request)"
		step "$way: all with the label from the request's field" all_under label:tenant acme
	fi
done
finish
