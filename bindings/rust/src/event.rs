// SPDX-License-Identifier: Apache-2.0
//! Typed events: see [`event_type!`](crate::event_type). The rules (contexts, settings, what is
//! counted) are those of weft/event.h.

use crate::sys;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A string of [`crate::tag_intern`]: in the pool, its id in the event; 0 = null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pooled(pub u32);

/// A thread of this process, by its id in the kernel; 0 = none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ThreadId(pub i32);

/// A span's id: 16 hexadecimal digits in the file; 0 = none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

/// A value on its way into an event.
pub type Value = sys::EventValue;

fn number(bits: u64) -> Value {
    Value { bits, bytes: 0 }
}

/// What a field of an event can be. Unsigned numbers become the next signed kind; `u64` is written
/// as an unsigned long.
pub trait Field {
    /// `enum weft_event_kind`
    const KIND: u32;
    /// `enum weft_event_content`
    const CONTENT: u32 = 0;
    /// As the event takes it.
    fn value(&self) -> Value;
}

macro_rules! numbers {
    ($($type:ty, $kind:expr, $content:expr;)*) => {$(
        impl Field for $type {
            const KIND: u32 = $kind;
            const CONTENT: u32 = $content;
            fn value(&self) -> Value {
                number(*self as i64 as u64)
            }
        }
    )*};
}

const UNSIGNED: u32 = 1 << 1;

numbers! {
    bool, 1, 0;
    i8, 2, 0;
    i16, 4, 0;
    u8, 4, 0;
    i32, 5, 0;
    u16, 5, 0;
    i64, 6, 0;
    u32, 6, 0;
    u64, 6, UNSIGNED;
}

impl Field for f32 {
    const KIND: u32 = 7;
    fn value(&self) -> Value {
        number(f64::from(*self).to_bits())
    }
}

impl Field for f64 {
    const KIND: u32 = 8;
    fn value(&self) -> Value {
        number(self.to_bits())
    }
}

impl Field for &str {
    const KIND: u32 = 9;
    fn value(&self) -> Value {
        Value {
            bits: self.as_ptr() as u64,
            bytes: self.len(),
        }
    }
}

/// `None` is null.
impl Field for Option<&str> {
    const KIND: u32 = 9;
    fn value(&self) -> Value {
        self.map_or(number(0), |text| text.value())
    }
}

impl Field for Pooled {
    const KIND: u32 = 10;
    fn value(&self) -> Value {
        number(u64::from(self.0))
    }
}

impl Field for ThreadId {
    const KIND: u32 = 11;
    fn value(&self) -> Value {
        number(self.0 as i64 as u64)
    }
}

impl Field for SpanId {
    const KIND: u32 = 12;
    fn value(&self) -> Value {
        number(self.0)
    }
}

const fn text_at(text: &'static str) -> *const c_char {
    text.as_ptr() as *const c_char
}

/// One field of a type, for [`event_type!`](crate::event_type). Texts end with NUL.
#[doc(hidden)]
pub const fn field(name: &'static str, kind: u32, content: u32) -> sys::EventField {
    sys::EventField {
        name: text_at(name),
        kind,
        content,
        label: std::ptr::null(),
        description: std::ptr::null(),
    }
}

/// A type of event; [`event_type!`](crate::event_type) makes it.
#[derive(Debug)]
#[repr(transparent)]
pub struct EventType(sys::EventType);

// SAFETY: what changes in it is libweft's, which changes it atomically.
unsafe impl Sync for EventType {}

#[doc(hidden)]
impl EventType {
    /// Texts end with NUL.
    pub const fn new(name: &'static str, fields: &'static [sys::EventField]) -> EventType {
        EventType(sys::EventType {
            name: text_at(name),
            label: std::ptr::null(),
            description: std::ptr::null(),
            category: std::ptr::null(),
            fields: fields.as_ptr(),
            field_count: fields.len() as u32,
            flags: 0,
            threshold: std::ptr::null(),
            throttle: std::ptr::null(),
            select: std::ptr::null(),
            row: AtomicPtr::new(std::ptr::null_mut()),
            number: AtomicU32::new(0),
            payload_bytes: AtomicU32::new(0),
            rsv: [std::cell::UnsafeCell::new(0), std::cell::UnsafeCell::new(0)],
        })
    }
    pub const fn label(mut self, text: &'static str) -> EventType {
        self.0.label = text_at(text);
        self
    }
    pub const fn description(mut self, text: &'static str) -> EventType {
        self.0.description = text_at(text);
        self
    }
    pub const fn category(mut self, text: &'static str) -> EventType {
        self.0.category = text_at(text);
        self
    }
    pub const fn threshold(mut self, text: &'static str) -> EventType {
        self.0.threshold = text_at(text);
        self
    }
    pub const fn throttle(mut self, text: &'static str) -> EventType {
        self.0.throttle = text_at(text);
        self
    }
    pub const fn select(mut self, text: &'static str) -> EventType {
        self.0.select = text_at(text);
        self
    }
    const fn with(mut self, flag: u32) -> EventType {
        self.0.flags |= flag;
        self
    }
    pub const fn contextual(self) -> EventType {
        self.with(1 << 0)
    }
    pub const fn stack(self) -> EventType {
        self.with(1 << 1)
    }
    pub const fn instant(self) -> EventType {
        self.with(1 << 2)
    }
    pub const fn off(self) -> EventType {
        self.with(1 << 3)
    }
    pub const fn experimental(self) -> EventType {
        self.with(1 << 4)
    }
}

impl EventType {
    fn at(&'static self) -> *const sys::EventType {
        &self.0
    }

    /// Would an event be recorded now? A load and a branch.
    #[inline]
    pub fn is_on(&'static self) -> bool {
        let mut row = self.0.row.load(Ordering::Acquire) as *const AtomicU32;

        if row.is_null() {
            // SAFETY: the type is static, and whole.
            row = unsafe { sys::weft_event_type_enrol(self.at()) };
        }
        // SAFETY: rows are never unmapped, and begin with their flags.
        unsafe { &*row }.load(Ordering::Relaxed) & 1 != 0
    }

    /// An event without a duration, now.
    #[doc(hidden)]
    pub fn put_now(&'static self, values: &[Value]) -> bool {
        // SAFETY: the type is static; @values lives during the call, and so do its texts.
        unsafe { sys::weft_event_put_now(self.at(), values.as_ptr(), values.len()) != 0 }
    }
}

/// An event that has begun; it is dropped unless it is committed.
#[derive(Debug)]
#[must_use = "the event is over where it is dropped"]
pub struct Event {
    event: sys::Event,
    not_send: PhantomData<*mut ()>,
}

impl Event {
    #[doc(hidden)]
    #[inline]
    pub fn begin(of: &'static EventType) -> Event {
        let mut event = MaybeUninit::<sys::Event>::zeroed();

        if of.is_on() {
            // SAFETY: fills in the struct; the runtime keeps no pointer to it: it may move.
            unsafe { sys::weft_event_begin_on(event.as_mut_ptr(), of.at()) }
        }
        Event {
            // SAFETY: all zero (nothing is to be done), or filled in.
            event: unsafe { event.assume_init() },
            not_send: PhantomData,
        }
    }

    /// It ends now; committing it does so if need be.
    pub fn end(&mut self) {
        if !self.event.of.is_null() {
            // SAFETY: begun on this thread, for it cannot be sent.
            unsafe { sys::weft_event_end_on(&mut self.event) }
        }
    }

    /// Ask before values are computed that cost much. `false`: it is over.
    pub fn should_commit(&mut self) -> bool {
        // SAFETY: as above.
        !self.event.of.is_null()
            && unsafe { sys::weft_event_should_commit_on(&mut self.event) != 0 }
    }

    #[doc(hidden)]
    pub fn put(&mut self, values: &[Value]) -> bool {
        // SAFETY: as above; @values and its texts live during the call.
        unsafe { sys::weft_event_put(&mut self.event, values.as_ptr(), values.len()) != 0 }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.event.of.is_null() {
            // SAFETY: as above.
            unsafe { sys::weft_event_cancel(&mut self.event) }
        }
    }
}

/// A span with a clock: until the guard is dropped the thread works for it, and then a contextual
/// event `weft.TimedSpan` is recorded, as its settings want it. [`timed_span!`](crate::timed_span)
/// makes it.
#[derive(Debug)]
#[must_use = "the span ends where its guard is dropped"]
pub struct TimedSpan {
    span: sys::TimedSpan,
    not_send: PhantomData<*mut ()>,
}

impl TimedSpan {
    /// @name ends with NUL.
    #[doc(hidden)]
    pub fn begin(name: &'static str, span_id: u64, root_span_id: u64) -> TimedSpan {
        let mut span = MaybeUninit::<sys::TimedSpan>::zeroed();

        debug_assert!(name.ends_with('\0'));
        TimedSpan {
            // SAFETY: fills in the struct; the runtime keeps no pointer to it: it may move.
            span: unsafe {
                sys::weft_span_begin(span.as_mut_ptr(), text_at(name), span_id, root_span_id);
                span.assume_init()
            },
            not_send: PhantomData,
        }
    }

    /// Ends it, as dropping does. `true`: its event was recorded.
    pub fn leave(self) -> bool {
        let mut left = std::mem::ManuallyDrop::new(self);

        // SAFETY: begun on this thread, for it cannot be sent; it is not dropped again.
        unsafe { sys::weft_span_end(&mut left.span) != 0 }
    }
}

impl Drop for TimedSpan {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { sys::weft_span_end(&mut self.span) };
    }
}

/// Declares a type of event, and a guard of that name for events of it. Options may follow: label,
/// description, category ("Shop|Orders"), threshold, throttle, select with a text; stack,
/// contextual, instant, off, experimental without.
///
/// ```
/// weft::event_type! {
///     /// An order came in.
///     pub struct OrderPlaced("shop.OrderPlaced") { order: i64, customer: &str }
///     .label("Order Placed").category("Shop").stack().threshold("1 ms")
/// }
///
/// let event = OrderPlaced::begin();
/// // ...
/// event.commit(4711, "acme"); // dropped otherwise: nothing is recorded
/// OrderPlaced::emit(4712, "now, and without a duration");
/// ```
///
/// What is committed has the types of the fields ([`event::Field`](crate::event::Field)):
///
/// ```compile_fail,E0308
/// weft::event_type! { struct Tick("app.Tick") { n: i64 } }
/// Tick::emit("one");
/// ```
#[macro_export]
macro_rules! event_type {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident($event:literal) { $($field:ident: $type:ty),* $(,)? }
        $(. $option:ident($($text:literal)?))*
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        #[must_use = "the event is over where it is dropped"]
        $visible struct $name($crate::event::Event);

        #[allow(dead_code, clippy::too_many_arguments)]
        impl $name {
            /// The type behind it.
            $visible fn event_type() -> &'static $crate::event::EventType {
                struct Fields([$crate::sys::EventField; {
                    const NAMES: &[&str] = &[$(stringify!($field)),*];
                    NAMES.len()
                }]);
                // SAFETY: texts that nobody writes.
                unsafe impl Sync for Fields {}
                static FIELDS: Fields = Fields([$($crate::event::field(
                    concat!(stringify!($field), "\0"),
                    <$type as $crate::event::Field>::KIND,
                    <$type as $crate::event::Field>::CONTENT,
                )),*]);
                static TYPE: $crate::event::EventType =
                    $crate::event::EventType::new(concat!($event, "\0"), &FIELDS.0)
                    $(.$option($(concat!($text, "\0"))?))*;

                &TYPE
            }

            /// Would an event be recorded now?
            $visible fn is_on() -> bool {
                Self::event_type().is_on()
            }

            /// The event begins now.
            $visible fn begin() -> Self {
                Self($crate::event::Event::begin(Self::event_type()))
            }

            /// It ends now; committing it does so if need be.
            $visible fn end(&mut self) {
                self.0.end();
            }

            /// Ask before values are computed that cost much. `false`: it is over.
            $visible fn should_commit(&mut self) -> bool {
                self.0.should_commit()
            }

            /// `true`: it is recorded; else left out by its settings, or lost, and counted.
            $visible fn commit(mut self, $($field: $type),*) -> bool {
                self.0.should_commit()
                    && self.0.put(&[$($crate::event::Field::value(&$field)),*])
            }

            /// An event without a duration, now. As `commit`.
            $visible fn emit($($field: $type),*) -> bool {
                Self::is_on()
                    && Self::event_type().put_now(&[$($crate::event::Field::value(&$field)),*])
            }
        }
    };
}

/// `timed_span!(name, span_id, root_span_id)`: a [`TimedSpan`](crate::event::TimedSpan) from here
/// to where its guard is dropped.
///
/// ```
/// let span = weft::timed_span!("checkout", 7, 1);
/// assert_eq!(weft::current().span_id, 7);
/// span.leave();
/// assert_eq!(weft::current().span_id, 0);
/// ```
#[macro_export]
macro_rules! timed_span {
    ($name:literal, $span_id:expr, $root_span_id:expr) => {
        $crate::event::TimedSpan::begin(concat!($name, "\0"), $span_id, $root_span_id)
    };
}
