// SPDX-License-Identifier: Apache-2.0
//! Ids of spans: those that another layer has given, or weft's own.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The ids of one span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The span; not 0.
    pub span_id: u64,
    /// In W3C byte order; zeros = none.
    pub trace_id: [u8; 16],
    /// W3C trace flags.
    pub trace_flags: u8,
}

impl Ids {
    /// The thread's context with these ids: its tags stay.
    pub(crate) fn context(&self, root_span_id: u64) -> weft::Context {
        weft::Context {
            span_id: self.span_id,
            root_span_id,
            trace_id: self.trace_id,
            trace_flags: self.trace_flags.into(),
            ..weft::read()
        }
    }
}

/// Ids without a trace: one that this process has not given before, and hardly another one.
pub(crate) fn own() -> Ids {
    Ids {
        span_id: next(),
        ..Ids::default()
    }
}

fn next() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let seed = *SEED.get_or_init(|| RandomState::new().build_hasher().finish());
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    // Each step of splitmix64 is a permutation: other counts, other ids.
    let mut id = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));

    id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (id ^ (id >> 31)).max(1)
}

#[cfg(feature = "opentelemetry")]
pub(crate) fn of_opentelemetry(
    span: &tracing_core::span::Id,
    dispatch: &tracing_core::Dispatch,
) -> Option<Ids> {
    use opentelemetry::trace::TraceContextExt;

    let context = tracing_opentelemetry::get_otel_context(span, dispatch)?;
    let span = context.span();
    let ids = span.span_context();

    Some(Ids {
        span_id: u64::from_be_bytes(ids.span_id().to_bytes()),
        trace_id: ids.trace_id().to_bytes(),
        trace_flags: ids.trace_flags().to_u8(),
    })
}
