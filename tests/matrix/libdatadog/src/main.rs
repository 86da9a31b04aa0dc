// SPDX-License-Identifier: Apache-2.0
//! The matrix's program with libdatadog's crates: a record for each request, shown by its address.
use libdd_library_config::otel_process_ctx::linux::publish;
use libdd_library_config::tracer_metadata::{ThreadLocalMetadata, TracerMetadata};
use libdd_otel_thread_ctx::linux::ThreadContext;

#[path = "../../turns.rs"]
mod turns;

fn span(request: usize) -> u64 {
    0x11 * (request as u64 + 1)
}

fn within(request: usize, work: &mut dyn FnMut()) {
    let id = span(request).to_be_bytes();

    // Key 0 is the local root span's, which the crate puts first.
    ThreadContext::new([0xA0; 16], id, 1, id, &[(1, turns::TENANTS[request])]).attach();
    work();
    ThreadContext::detach();
}

fn main() {
    let metadata = TracerMetadata {
        tracer_language: "rust".into(),
        service_name: Some("matrix".into()),
        threadlocal_metadata: Some(ThreadLocalMetadata {
            attribute_keys: vec!["tenant".into()],
            ..Default::default()
        }),
        ..Default::default()
    };

    publish(&metadata.to_otel_process_ctx()).expect("published");
    turns::run(within, span)
}
