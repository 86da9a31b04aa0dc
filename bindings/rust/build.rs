// SPDX-License-Identifier: Apache-2.0
//! Compiles the probe of weft/coro.h, and links libweft. By environment:
//!
//! - `WEFT_LIB_DIR`: where libweft.so or libweft.a is; not needed when it is installed where the
//!   linker looks anyway. This crate's own tests and examples also look there when they run.
//! - `WEFT_STATIC=1`: libweft.a instead of libweft.so.
//! - `WEFT_INCLUDE_DIR`: where weft/coro.h is, unless this crate lies in weft's own tree, or the
//!   headers are installed where the C compiler looks.
//! - `CC` (a cache may stand before it), `CFLAGS`, `AR`: what compiles; cc and ar.
//!
//! Without the feature `context`, libweft is not linked.
//!
//! Crates that depend on this one get `DEP_WEFT_LIB_DIR` and `DEP_WEFT_STATIC` in their build
//! scripts, which pass them on to the linker by `weft::build::emit()` (feature `build`): arguments
//! that are printed here hold for this crate's own tests and examples.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    compile_probe();
    if env::var_os("CARGO_FEATURE_CONTEXT").is_some() {
        link_libweft();
    }
}

fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={}", name);
    env::var(name).ok().filter(|word| !word.is_empty())
}

fn run(command: &mut Command) {
    let status = command.status();

    if !matches!(&status, Ok(status) if status.success()) {
        eprintln!("{:?}: {:?}", command, status);
        std::process::exit(1);
    }
}

fn headers() -> Option<PathBuf> {
    let tree =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it")).join("../../include");

    variable("WEFT_INCLUDE_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(tree).filter(|tree| tree.join("weft/coro.h").exists()))
}

fn compile_probe() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says it"));
    let object = out.join("coro.o");
    let archive = out.join("libweft_rs_coro.a");
    let compiler = variable("CC").unwrap_or_else(|| "cc".into());
    let mut words = compiler.split_whitespace(); // "ccache gcc" is two
    let mut cc = Command::new(words.next().unwrap_or("cc"));

    cc.args(words);
    cc.args(["-std=gnu11", "-O2", "-g", "-fPIC", "-c", "src/coro.c", "-o"]);
    cc.arg(&object);
    if let Some(directory) = headers() {
        cc.arg("-I").arg(&directory);
        for header in ["coro.h", "coro_station.h", "coro_process.h", "abi/ctp.h"] {
            let header = directory.join("weft").join(header);

            println!("cargo:rerun-if-changed={}", header.display());
        }
    }
    if let Some(flags) = variable("CFLAGS") {
        cc.args(flags.split_whitespace());
    }
    println!("cargo:rerun-if-changed=src/coro.c");
    run(&mut cc);
    let _ = std::fs::remove_file(&archive);
    run(Command::new(variable("AR").unwrap_or_else(|| "ar".into()))
        .arg("crs")
        .arg(&archive)
        .arg(&object));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=weft_rs_coro");
}

fn link_libweft() {
    let is_static = variable("WEFT_STATIC").map_or(false, |word| word != "0");
    let kind = if is_static { "static" } else { "dylib" };

    if let Some(directory) = variable("WEFT_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", directory);
        println!("cargo:lib_dir={}", directory);
        println!(
            "cargo:rerun-if-changed={}/libweft.{}",
            directory,
            if is_static { "a" } else { "so" }
        );
        if !is_static {
            println!("cargo:rustc-link-arg=-Wl,-rpath,{}", directory);
        }
    }
    if is_static {
        println!("cargo:static=1");
        // What readers of OpenTelemetry's context look for in a program, and a libweft.so that
        // comes later.
        for name in ["otel_thread_ctx_v1", "weft_runtime_v1"] {
            println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol={}", name);
        }
    }
    println!("cargo:rustc-link-lib={}=weft", kind);
}
