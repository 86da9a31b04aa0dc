// SPDX-License-Identifier: Apache-2.0
//! Finds libweft.so also when it runs, where it was found when it was linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(directory) = std::env::var("DEP_WEFT_LIB_DIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", directory);
    }
}
