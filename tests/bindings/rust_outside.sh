#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A crate outside weft's tree that depends on bindings/rust, and its programs: with libweft.so they
# find it where it lies, with libweft.a readers find their contexts; also a program of a crate
# between, and a static one. usage: rust_outside.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
weft=$libraries/../../weft
cargo --version >/dev/null 2>&1 || { echo "1..0 # skip no cargo"; exit 77; }
. "$source/tests/steps.sh"
unset LD_LIBRARY_PATH RUSTFLAGS WEFT_STATIC WEFT_LIB_DIR

cp -r "$source/bindings/rust" "$scratch/weft" && rm -rf "$scratch/weft/target"
mkdir -p "$scratch/shop/src" "$scratch/between/src"
cat >"$scratch/shop/Cargo.toml" <<-END
	[package]
	name = "shop"
	version = "1.0.0"
	edition = "2021"
	[dependencies]
	between = { path = "../between" }
	[build-dependencies]
	weft = { path = "../weft", default-features = false, features = ["build"] }
END
cat >"$scratch/shop/build.rs" <<-END
	fn main() {
	    weft::build::emit();
	}
END
cat >"$scratch/shop/src/main.rs" <<-END
	fn main() {
	    between::work();
	}
END
sed -e 's/"shop"/"between"/' -e 's/^between = .*/weft = { path = "..\/weft" }/' \
	"$scratch/shop/Cargo.toml" >"$scratch/between/Cargo.toml"
cp "$scratch/shop/build.rs" "$scratch/between"
cat >"$scratch/between/src/lib.rs" <<-END
	pub fn work() {
	    let _span = weft::Span::enter(7, 8);
	    let _label = weft::Label::set("tenant", "acme");
	    assert_eq!(weft::current().span_id, 7);
	    println!("worked");
	}
END
printf 'fn main() {\n    between::work();\n}\n' >"$scratch/between/src/main.rs"

export CARGO_TARGET_DIR="$scratch/target" WEFT_INCLUDE_DIR="$source/include" WEFT_LIB_DIR="$libraries"

built() { # CRATE [ARGUMENTS]
	crate=$1
	shift
	cargo build --offline -q --manifest-path "$scratch/$crate/Cargo.toml" "$@"
}

works() { # PROGRAM
	[ "$("$1")" = worked ]
}

# shellcheck disable=SC2317
readers_find() { # PROGRAM
	"$weft" check --json "$1" >"$scratch/check.json"
	jq -e '.files[0].abis.otel.ok' "$scratch/check.json" || { cat "$scratch/check.json"; return 1; }
}

for crate in between shop; do
	step "$crate, libweft.so: builds" built $crate
	step "$crate, libweft.so: finds it" works "$scratch/target/debug/$crate"
done
export WEFT_STATIC=1
for crate in between shop; do
	step "$crate, libweft.a: builds" built $crate
	step "$crate, libweft.a: works" works "$scratch/target/debug/$crate"
	if command -v jq >/dev/null && [ -x "$weft" ]; then
		step "$crate, libweft.a: its contexts are found" readers_find "$scratch/target/debug/$crate"
	fi
done

# A program without a loader, of glibc: cargo must be told of the target, or it builds the build
# scripts so, too.
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-C target-feature=+crt-static"
if ! built between --target "$target" >"$scratch/log" 2>&1 && grep -q 'cannot find -l\|unable to find library' "$scratch/log"; then
	skip "a static program" "there is no static libc"
else
	step "a static program: builds" built between --target "$target"
	step "a static program: works" works "$scratch/target/$target/debug/between"
	if command -v jq >/dev/null && [ -x "$weft" ]; then
		step "a static program: its contexts are found" readers_find "$scratch/target/$target/debug/between"
	fi
fi
finish
