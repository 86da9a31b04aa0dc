// SPDX-License-Identifier: Apache-2.0
//! For build scripts of crates whose programs use this one (feature `build`).
//!
//! What a build script says about linking a library is passed on to all who depend on it; its other
//! arguments for the linker are not: they hold for the tests and examples of this crate alone. A
//! program would so be without the run path to libweft.so, or, with libweft.a inside, without the
//! symbols by which readers outside find its contexts. So a program's own build script says them:
//!
//! ```toml
//! [dependencies]
//! weft = "0.1"
//!
//! [build-dependencies]
//! weft = { version = "0.1", default-features = false, features = ["build"] }
//! ```
//!
//! ```no_run
//! // build.rs
//! fn main() {
//!     weft::build::emit();
//! }
//! ```
//!
//! The features of the two stay apart with the resolver of edition 2021 (`resolver = "2"`, which a
//! workspace without a package of its own has to name).

use std::env;

fn said(by_weft: &str, by_builder: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={}", by_builder);
    env::var(by_weft)
        .or_else(|_| env::var(by_builder))
        .ok()
        .filter(|word| !word.is_empty())
}

/// Tells cargo with what the programs of this package are to be linked: with libweft.so, where it
/// is found when they run, if `WEFT_LIB_DIR` has said where it is; with libweft.a
/// (`WEFT_STATIC=1`), the symbols that a program with it inside exports.
///
/// To be called by the build script of each package that makes a program. In one that does not
/// itself depend on weft the variables of the build count.
pub fn emit() {
    let directory = said("DEP_WEFT_LIB_DIR", "WEFT_LIB_DIR");
    let is_static = said("DEP_WEFT_STATIC", "WEFT_STATIC").map_or(false, |word| word != "0");

    if is_static {
        for name in EXPORTED {
            println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol={}", name);
        }
    } else if let Some(directory) = directory {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", directory);
    }
}

/// What readers of OpenTelemetry's context look for in a program, and a libweft.so that comes
/// later, with a plugin.
const EXPORTED: [&str; 2] = ["otel_thread_ctx_v1", "weft_runtime_v1"];
