// SPDX-License-Identifier: Apache-2.0
//! Spans of [`tracing`](https://docs.rs/tracing), in weft: a thread that has entered one has its id,
//! local root and labels in every sample, until the span is exited; then all is as it was. Futures
//! that are instrumented enter their span at each poll: they need nothing more.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry()
//!     .with(weft_tracing::layer().with_fields(["tenant"]))
//!     .init();
//!
//! let span = tracing::info_span!("checkout", tenant = "acme").entered();
//! assert_eq!(weft::get_label("span.name").unwrap(), *"checkout");
//! assert_eq!(weft::get_label("tenant").unwrap(), *"acme");
//! span.exit();
//! assert_eq!(weft::current().span_id, 0);
//! ```
//!
//! A span's local root is the outermost of the spans around it, by their parents. Its id is one of
//! weft's own, unless another layer has given it one ([`WeftLayer::with_ids`]): with the feature
//! `opentelemetry` that is tracing-opentelemetry's, whose layer must have come before this one.
//! Fields of a span that are to be labels hold for the spans in it, too.
//!
//! Not seen: `opentelemetry`'s own contexts where no span of `tracing` stands for them, for that
//! crate tells nobody when they change.

#![warn(missing_docs, missing_debug_implementations)]
#![forbid(unsafe_code)]

mod entered;
mod ids;
mod labels;

pub use ids::Ids;

use labels::{Labels, Wanted};
use std::sync::OnceLock;
use tracing_core::dispatcher::WeakDispatch;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use tracing_subscriber::Layer;

/// The layer. Made by [`layer()`].
#[derive(Debug)]
pub struct WeftLayer {
    name: Option<String>,
    fields: Vec<String>,
    ids: fn(&Id, &Dispatch) -> Option<Ids>,
    dispatch: OnceLock<WeakDispatch>,
}

/// What the layer keeps with a span.
struct Told {
    ids: OnceLock<Ids>, // known when it is first entered
    labels: Labels,
}

/// A layer that shows a span's name as label `span.name`, and no fields.
pub fn layer() -> WeftLayer {
    WeftLayer {
        name: Some("span.name".to_owned()),
        fields: Vec::new(),
        #[cfg(feature = "opentelemetry")]
        ids: ids::of_opentelemetry,
        #[cfg(not(feature = "opentelemetry"))]
        ids: |_, _| None,
        dispatch: OnceLock::new(),
    }
}

impl WeftLayer {
    /// The label that has the span's name; nothing: none has it.
    pub fn with_name_label<'a>(mut self, key: impl Into<Option<&'a str>>) -> WeftLayer {
        self.name = key.into().map(str::to_owned);
        self
    }

    /// Fields that are labels, too, by the same name. A thread has room for seven beside the name.
    pub fn with_fields<I>(mut self, fields: I) -> WeftLayer
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.fields = fields.into_iter().map(Into::into).collect();
        self
    }

    /// Which ids another layer has given a span, if it has. Asked when the span is entered first.
    ///
    /// For tracing-opentelemetry in a version that the feature `opentelemetry` is not made for:
    ///
    /// ```ignore
    /// layer().with_ids(|span, dispatch| {
    ///     let context = tracing_opentelemetry::get_otel_context(span, dispatch)?;
    ///     let span = context.span();
    ///     let ids = span.span_context();
    ///     Some(weft_tracing::Ids {
    ///         span_id: u64::from_be_bytes(ids.span_id().to_bytes()),
    ///         trace_id: ids.trace_id().to_bytes(),
    ///         trace_flags: ids.trace_flags().to_u8(),
    ///     })
    /// })
    /// ```
    pub fn with_ids(mut self, ids: fn(&Id, &Dispatch) -> Option<Ids>) -> WeftLayer {
        self.ids = ids;
        self
    }

    fn given_ids(&self, id: &Id) -> Option<Ids> {
        (self.ids)(id, &self.dispatch.get()?.upgrade()?).filter(|ids| ids.span_id != 0)
    }

    /// Nobody may hold the span's extensions: who gives ids looks there, too.
    fn ids_of<'a, S: LookupSpan<'a>>(&self, span: &SpanRef<'a, S>) -> Option<Ids> {
        if let Some(ids) = span.extensions().get::<Told>()?.ids.get() {
            return Some(*ids);
        }
        let ids = self.given_ids(&span.id()).unwrap_or_else(ids::own);

        Some(*span.extensions().get::<Told>()?.ids.get_or_init(|| ids))
    }

    fn root_of<'a, S: LookupSpan<'a>>(&self, span: &SpanRef<'a, S>) -> Option<Ids> {
        self.ids_of(&span.scope().last()?)
    }
}

impl<S> Layer<S> for WeftLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_register_dispatch(&self, dispatch: &Dispatch) {
        let _ = self.dispatch.set(dispatch.downgrade());
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut told = Told {
            ids: OnceLock::new(),
            labels: Labels::default(),
        };

        if let Some(parent) = span.parent() {
            if let Some(above) = parent.extensions().get::<Told>() {
                told.labels = above.labels.clone();
            }
        }
        attributes.record(&mut Wanted::new(&self.fields, &mut told.labels));
        span.extensions_mut().replace(told);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(told) = extensions.get_mut::<Told>() else {
            return;
        };

        values.record(&mut Wanted::new(&self.fields, &mut told.labels));
        if entered::is_innermost(id) {
            told.labels.set();
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(ids) = self.ids_of(&span) else {
            return;
        };
        let root = self.root_of(&span).unwrap_or(ids);
        let extensions = span.extensions();
        let Some(told) = extensions.get::<Told>() else {
            return;
        };
        let mut update = weft::Update::new().context(ids.context(root.span_id));

        if let Some(key) = &self.name {
            update = update.set(key, span.name());
        }
        entered::push(id, told.labels.added_to(update, &self.fields));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        entered::pop(id);
    }
}
