// SPDX-License-Identifier: Apache-2.0
//! The C functions of weft/context.h and weft/labels.h as they are, and those of src/coro.c. `tests/layout.rs` compares the
//! structs with those of the C compiler.

#[cfg(feature = "context")]
use std::marker::PhantomData;
#[cfg(feature = "context")]
use std::os::raw::{c_char, c_uint};
use std::os::raw::{c_int, c_void};

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
    labels: [u32; 3],
    not_send: PhantomData<*mut ()>,
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
}
