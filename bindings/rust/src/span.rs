// SPDX-License-Identifier: Apache-2.0
//! Ids, whole contexts, and the guard around them.

use crate::{sys, Update};
use std::fmt;
use std::mem::MaybeUninit;

/// A pair of ids; 0 = none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ids {
    /// The span.
    pub span_id: u64,
    /// The local root span.
    pub root_span_id: u64,
}

/// The whole context of a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The span; 0 = none.
    pub span_id: u64,
    /// The local root span; 0 = none.
    pub root_span_id: u64,
    /// In W3C byte order; zeros = none.
    pub trace_id: [u8; 16],
    /// W3C trace flags.
    pub trace_flags: u32,
    /// Ids from [`crate::tag_intern`]; 0 = unset.
    pub tags: [u32; sys::TAGS],
}

impl Context {
    /// Ids alone.
    pub fn new(span_id: u64, root_span_id: u64) -> Context {
        Context {
            span_id,
            root_span_id,
            ..Context::default()
        }
    }
}

fn ids_of(ids: sys::Ids) -> Ids {
    Ids {
        span_id: ids.span_id,
        root_span_id: ids.root_span_id,
    }
}

/// The thread works for this span until something else is set. Returns the ids that stood there.
pub fn set(span_id: u64, root_span_id: u64) -> Ids {
    // SAFETY: takes any values, on any thread.
    ids_of(unsafe { sys::weft_context_set_all(span_id, root_span_id) })
}

/// The ids that the thread last set; zeros when none.
pub fn current() -> Ids {
    // SAFETY: as above.
    ids_of(unsafe { sys::weft_context_get_all() })
}

/// What a sample taken now would carry; zeros where nothing is known.
pub fn read() -> Context {
    let mut context = Context::default();

    // SAFETY: fills in the struct, whose layout is that of C.
    unsafe { sys::weft_context_read(&mut context) };
    context
}

/// Nothing any more: ids, trace id and tags.
pub fn clear() {
    // SAFETY: as above.
    unsafe { sys::weft_context_clear() }
}

/// The thread works for a span until the guard is dropped; then everything is as it was: ids,
/// trace id, tags and labels, whatever was set meanwhile.
///
/// ```
/// let outer = weft::Span::enter(1, 1);
/// {
///     let _inner = weft::Span::enter(2, 1);
///     assert_eq!(weft::current().span_id, 2);
/// }
/// assert_eq!(weft::current().span_id, 1);
/// outer.leave();
/// assert_eq!(weft::current().span_id, 0);
/// ```
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// let span = weft::Span::enter(1, 1);
/// std::thread::spawn(move || drop(span));
/// ```
#[must_use = "the span ends where its guard is dropped"]
pub struct Span {
    scope: sys::Scope,
}

impl Span {
    fn scope(context: *const Context) -> Span {
        let mut scope = MaybeUninit::<sys::Scope>::zeroed();

        // SAFETY: @context is NULL or whole; the struct, all zero or filled in, is valid, and the
        // runtime keeps no pointer to it: it may move.
        let scope = unsafe {
            sys::weft_scope_enter(scope.as_mut_ptr(), context);
            scope.assume_init()
        };
        Span { scope }
    }

    /// Ids alone: tags and labels stay.
    pub fn enter(span_id: u64, root_span_id: u64) -> Span {
        let span = Span::scope(std::ptr::null());

        set(span_id, root_span_id);
        span
    }

    /// The whole context; labels stay.
    pub fn with(context: &Context) -> Span {
        Span::scope(context)
    }

    /// All that the update names, as one.
    ///
    /// ```
    /// let context = weft::Context::new(7, 1);
    /// let _span = weft::Span::update(
    ///     weft::Update::new().context(context).set("tenant", "acme").set("route", "/checkout"),
    /// );
    /// assert_eq!(weft::get_label("route").unwrap(), *"/checkout");
    /// ```
    pub fn update(mut update: Update<'_>) -> Span {
        let span = Span::scope(std::ptr::null());

        // A label that is refused does not undo the rest; apply() is there for who asks.
        let _ = update.apply();
        span
    }

    /// Ends it, as dropping does.
    pub fn leave(self) {}
}

impl Drop for Span {
    fn drop(&mut self) {
        // SAFETY: entered on this thread, for the guard cannot be sent.
        unsafe { sys::weft_scope_leave(&mut self.scope) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span").finish_non_exhaustive()
    }
}
