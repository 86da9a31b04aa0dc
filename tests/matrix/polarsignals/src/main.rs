// SPDX-License-Identifier: Apache-2.0
//! The matrix's program with polarsignals' crate: labels that are set around each request. The span
//! is a label, too, by the key that readers of Custom Labels know.
#[path = "../../turns.rs"]
mod turns;

fn span(request: usize) -> u64 {
    0x11 * (request as u64 + 1)
}

fn within(request: usize, work: &mut dyn FnMut()) {
    custom_labels::with_label("span-id", span(request).to_string(), || {
        custom_labels::with_label("tenant", turns::TENANTS[request], work)
    });
}

fn main() {
    turns::run(within, span)
}
