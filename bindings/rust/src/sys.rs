// SPDX-License-Identifier: Apache-2.0
//! The C functions of weft/context.h, weft/labels.h and weft/event.h as they are, and those of
//! src/coro.c. `tests/layout.rs` compares the structs with those of the C compiler.

#[cfg(feature = "context")]
use std::marker::PhantomData;
#[cfg(feature = "context")]
use std::os::raw::{c_char, c_uint};
use std::os::raw::{c_int, c_void};
#[cfg(feature = "context")]
use std::sync::atomic::{AtomicPtr, AtomicU32};

/// Words for a `struct weft_coro`; src/coro.c asserts that they suffice.
pub const CORO_WORDS: usize = 64;
/// `WEFT_CORO_DETACHED`
pub const CORO_DETACHED: u32 = 1;

/// Memory of a `struct weft_coro`.
#[repr(C)]
#[derive(Debug)]
pub struct Coro {
    pub(crate) words: [u64; CORO_WORDS],
}

extern "C" {
    pub fn weft_rs_coro_create(
        coro: *mut Coro,
        id: u64,
        site: *const c_void,
        flags: u32,
        carry: *const c_void,
    ) -> c_int;
    pub fn weft_rs_coro_resume(coro: *mut Coro, addr: *const c_void);
    pub fn weft_rs_coro_suspend(coro: *mut Coro, addr: *const c_void);
    pub fn weft_rs_coro_wake(coro: *mut Coro);
    pub fn weft_rs_coro_destroy(coro: *mut Coro);
    pub fn weft_rs_coro_payload(bytes: *const c_void, count: usize) -> usize;
    pub fn weft_rs_coro_is_running() -> c_int;
    pub fn weft_rs_here() -> *const c_void;
}

#[cfg(feature = "context")]
pub const TAGS: usize = 10;
#[cfg(feature = "context")]
pub const KEY_BYTES: usize = 128;
#[cfg(feature = "context")]
pub const VALUE_BYTES: usize = 256;
#[cfg(feature = "context")]
pub const LABELS_MOST: usize = 32;
#[cfg(feature = "context")]
pub const UPDATE_REPLACE: c_uint = 1;

#[cfg(feature = "context")]
/// `struct weft_ids`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    pub span_id: u64,
    pub root_span_id: u64,
}

#[cfg(feature = "context")]
/// `struct weft_scope`: opaque. It keeps pointers of its thread only.
#[repr(C)]
#[derive(Debug)]
pub struct Scope {
    slot: *mut c_void,
    record: [u64; 8],
    extension: [u64; 5],
    done: c_int,
    labels_saved: u32,
    labels_number: u64,
    not_send: PhantomData<*mut ()>,
}

#[cfg(feature = "context")]
/// `struct weft_attached`: opaque, likewise.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Attached {
    scope: Scope,
}

#[cfg(feature = "context")]
/// `struct weft_prepared`
#[repr(C)]
#[derive(Debug)]
pub struct Prepared {
    opaque: [u8; 0],
}

#[cfg(feature = "context")]
/// `struct weft_label`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Label {
    pub key: *const c_char,
    pub key_bytes: usize,
    pub value: *const c_char,
    pub value_bytes: usize,
    pub result: c_int,
}

#[cfg(feature = "context")]
/// `struct weft_event_field`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventField {
    pub name: *const c_char,
    pub kind: c_uint,
    pub content: c_uint,
    pub label: *const c_char,
    pub description: *const c_char,
}

#[cfg(feature = "context")]
/// `struct weft_event_type`
#[repr(C)]
#[derive(Debug)]
pub struct EventType {
    pub name: *const c_char,
    pub label: *const c_char,
    pub description: *const c_char,
    pub category: *const c_char,
    pub fields: *const EventField,
    pub field_count: u32,
    pub flags: u32,
    pub threshold: *const c_char,
    pub throttle: *const c_char,
    pub select: *const c_char,
    pub row: AtomicPtr<c_void>,
    pub number: AtomicU32,
    pub payload_bytes: AtomicU32,
    pub rsv: [std::cell::UnsafeCell<u64>; 2],
}

#[cfg(feature = "context")]
/// `struct weft_event_value`: a number, a double's bits or a pointer, and the bytes of a text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventValue {
    pub bits: u64,
    pub bytes: usize,
}

#[cfg(feature = "context")]
/// `struct weft_event`: opaque, but that a null type says that nothing is to be done.
#[repr(C)]
#[derive(Debug)]
pub struct Event {
    pub of: *const EventType,
    words: [u64; 6],
}

#[cfg(feature = "context")]
/// `struct weft_span`: opaque.
#[repr(C)]
#[derive(Debug)]
pub struct TimedSpan {
    event: Event,
    words: [u64; 6],
}

#[cfg(feature = "context")]
pub type EachLabel =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;

#[cfg(feature = "context")]
extern "C" {
    pub static weft_coro_carry_v1: u8;
    pub fn weft_context_set_all(span_id: u64, root_span_id: u64) -> Ids;
    pub fn weft_context_get_all() -> Ids;
    pub fn weft_context_clear();
    pub fn weft_context_read(context: *mut crate::Context) -> c_int;
    pub fn weft_context_write(context: *const crate::Context);
    pub fn weft_scope_enter(scope: *mut Scope, context: *const crate::Context);
    pub fn weft_scope_leave(scope: *mut Scope);
    pub fn weft_tag_name(n: c_uint, name: *const c_char) -> c_int;
    pub fn weft_tag_intern(string: *const c_char) -> u32;
    pub fn weft_tag_set_all(n: c_uint, id: u32) -> u32;
    pub fn weft_label_set_bytes(
        key: *const c_char,
        key_bytes: usize,
        value: *const c_char,
        value_bytes: usize,
    ) -> c_int;
    pub fn weft_label_get_bytes(
        key: *const c_char,
        key_bytes: usize,
        value: *mut c_char,
        room: usize,
    ) -> isize;
    pub fn weft_labels_clear() -> usize;
    pub fn weft_labels_each(f: EachLabel, arg: *mut c_void) -> c_int;
    pub fn weft_context_update(
        context: *const crate::Context,
        labels: *mut Label,
        count: usize,
        flags: c_uint,
    ) -> c_int;
    pub fn weft_context_prepare(
        context: *const crate::Context,
        labels: *mut Label,
        count: usize,
    ) -> *mut Prepared;
    pub fn weft_context_free(prepared: *mut Prepared);
    pub fn weft_context_attach(before: *mut Attached, prepared: *const Prepared);
    pub fn weft_context_detach(before: *mut Attached);
    pub fn weft_event_type_enrol(of: *const EventType) -> *const AtomicU32;
    pub fn weft_event_begin_on(event: *mut Event, of: *const EventType);
    pub fn weft_event_end_on(event: *mut Event);
    pub fn weft_event_should_commit_on(event: *mut Event) -> c_int;
    pub fn weft_event_put(event: *mut Event, values: *const EventValue, count: usize) -> c_int;
    pub fn weft_event_cancel(event: *mut Event);
    pub fn weft_event_put_now(
        of: *const EventType,
        values: *const EventValue,
        count: usize,
    ) -> c_int;
    pub fn weft_span_begin(
        span: *mut TimedSpan,
        name: *const c_char,
        span_id: u64,
        root_span_id: u64,
    );
    pub fn weft_span_end(span: *mut TimedSpan) -> c_int;
}
