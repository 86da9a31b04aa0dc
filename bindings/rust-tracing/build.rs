// SPDX-License-Identifier: Apache-2.0
//! For this crate's own tests and examples, as programs do it for themselves.
fn main() {
    weft::build::emit();
}
