// SPDX-License-Identifier: Apache-2.0
//! Says what the current thread works for, so that a profiler can tell: a span and string labels.
//! Every sample that weft takes then carries them; profilers outside read them by their ABIs.
//!
//! ```
//! fn handle(span: u64, tenant: &str) {
//!     let _span = weft::Span::enter(span, span);
//!     let _label = weft::Label::set("tenant", tenant);
//!     assert_eq!(weft::current().span_id, span);
//! } // both are as they were
//! # handle(7, "acme");
//! ```
//!
//! Everything acts on the calling thread. Guards stay on the thread that made them (they are not
//! [`Send`]: a guard that is held over an `.await` makes the future so, too), and put back what was
//! there when they are dropped, also by a panic. They are meant to be dropped in the reverse of
//! their order, as blocks do; in another order nothing breaks, but what is left behind is what the
//! last one found. One that is forgotten puts nothing back.
//!
//! Nothing here locks, fails loudly or allocates, but for [`labels`], [`tag_name`] and
//! [`tag_intern`]. Not for signal handlers, but for [`set`] and [`current`].
//!
//! Typed events, and spans with a clock: [`event_type!`], [`timed_span!`].
//!
//! Futures that tell where they run and wait: [`coro`].
//!
//! # Linking
//!
//! Against libweft.so, or with `WEFT_STATIC=1` in the environment of the build against libweft.a;
//! `WEFT_LIB_DIR` says where it is when the linker would not find it. A program that has libweft.a
//! inside and is run with libweft.so preloaded (`weft record` does that) has one context.
//!
//! A program's own build script calls `weft::build::emit()` (feature `build`, as a
//! build-dependency): then it finds libweft.so where `WEFT_LIB_DIR` has said it is, and, with
//! libweft.a inside, exports what readers of OpenTelemetry's context look for (`weft check` judges)
//! and what a libweft.so looks for that comes late, with a plugin.

#![warn(missing_docs, missing_debug_implementations)]

#[cfg(feature = "build")]
pub mod build;
pub mod coro;
pub mod ctp;
#[cfg(feature = "context")]
pub mod event;
#[cfg(feature = "context")]
mod label;
#[cfg(feature = "context")]
mod prepared;
#[cfg(feature = "context")]
mod span;
#[doc(hidden)]
pub mod sys;
#[cfg(feature = "context")]
mod tag;
#[cfg(feature = "context")]
mod update;

#[cfg(feature = "context")]
pub use label::{
    clear_labels, get_label, labels, remove_label, set_label, Label, LabelResult, LabelSet,
    Refused, Value,
};
#[cfg(feature = "context")]
pub use prepared::{Attached, InContext, Prepared, WithContext};
#[cfg(feature = "context")]
pub use span::{clear, current, read, set, Context, Ids, Span};
#[cfg(feature = "context")]
pub use tag::{tag_intern, tag_name, tag_set};
#[cfg(feature = "context")]
pub use update::Update;

#[cfg(feature = "context")]
/// Tags of a thread.
pub const TAGS: usize = sys::TAGS;
