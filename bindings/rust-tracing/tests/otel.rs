// SPDX-License-Identifier: Apache-2.0
//! Ids are those of tracing-opentelemetry, whose layer came before.

use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tracing::info_span;
use tracing_subscriber::prelude::*;

/// Span, trace and flags that OpenTelemetry says are current.
fn current() -> (u64, [u8; 16], u32) {
    let context = opentelemetry::Context::current();
    let span = context.span();
    let ids = span.span_context();

    assert!(ids.is_valid());
    (
        u64::from_be_bytes(ids.span_id().to_bytes()),
        ids.trace_id().to_bytes(),
        ids.trace_flags().to_u8().into(),
    )
}

fn seen() -> (u64, [u8; 16], u32) {
    let now = weft::read();

    (now.span_id, now.trace_id, now.trace_flags)
}

fn run(sampler: Sampler, flags: u32) {
    let provider = SdkTracerProvider::builder().with_sampler(sampler).build();
    let subscriber = tracing_subscriber::registry()
        .with(tracing_opentelemetry::layer().with_tracer(provider.tracer("test")))
        .with(weft_tracing::layer());

    tracing::subscriber::with_default(subscriber, || {
        let never_entered = info_span!("request");
        let outer = info_span!(parent: &never_entered, "outer").entered();
        assert_eq!(seen(), current());
        assert_eq!(seen().2, flags);
        let root = weft::current().root_span_id;
        assert_ne!(root, weft::current().span_id);
        info_span!("inner").in_scope(|| {
            assert_eq!(seen(), current());
            assert_eq!(weft::current().root_span_id, root);
        });
        drop(outer);
        assert_eq!(seen(), (0, [0; 16], 0));
        never_entered.in_scope(|| assert_eq!(weft::current().span_id, root));
    });
}

#[test]
fn ids_are_opentelemetrys() {
    run(Sampler::AlwaysOn, 1);
}

#[test]
fn of_spans_that_are_not_sampled_too() {
    run(Sampler::AlwaysOff, 0);
}
