// SPDX-License-Identifier: Apache-2.0
//! String labels of the current thread.

use crate::sys;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LabelSet {
    /// There was no such label.
    Set,
    /// There was; it has the new value.
    Updated,
    /// Set or updated, with key (128 bytes) or value (256) cut between characters.
    Truncated,
    /// It was there, and is not any more.
    Removed,
    /// It was to be removed, and was not there.
    Absent,
}

/// Why a call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// All labels are in use, or a span could not save them.
    NoRoom,
    /// `span-id` and `root-span-id` are weft's own.
    Reserved,
    /// No key.
    Invalid,
    /// The thread can get no slot: weft keeps nothing for it.
    NoSlot,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::NoRoom => "no room for another label",
            Refused::Reserved => "the label is weft's own",
            Refused::Invalid => "a label without a key",
            Refused::NoSlot => "no slot for the thread",
        })
    }
}

impl std::error::Error for Refused {}

/// What became of a label.
pub type LabelResult = Result<LabelSet, Refused>;

pub(crate) fn result_of(code: c_int) -> LabelResult {
    match code {
        0 => Ok(LabelSet::Set),
        1 => Ok(LabelSet::Updated),
        2 => Ok(LabelSet::Truncated),
        3 => Ok(LabelSet::Removed),
        4 => Ok(LabelSet::Absent),
        -1 => Err(Refused::NoRoom),
        -2 => Err(Refused::Reserved),
        -4 => Err(Refused::NoSlot),
        _ => Err(Refused::Invalid),
    }
}

pub(crate) fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

fn set_bytes(key: &[u8], value: &[u8]) -> LabelResult {
    // SAFETY: both live during the call; a slice's pointer is never NULL.
    result_of(unsafe {
        sys::weft_label_set_bytes(chars(key), key.len(), chars(value), value.len())
    })
}

fn remove_bytes(key: &[u8]) -> LabelResult {
    // SAFETY: as above; NULL removes.
    result_of(unsafe { sys::weft_label_set_bytes(chars(key), key.len(), ptr::null(), 0) })
}

/// Sets a label until it is set again: no guard.
///
/// # Errors
///
/// [`Refused`], and then nothing has changed.
pub fn set_label(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> LabelResult {
    set_bytes(key.as_ref(), value.as_ref())
}

/// Takes a label away.
///
/// # Errors
///
/// [`Refused`], and then nothing has changed.
pub fn remove_label(key: impl AsRef<[u8]>) -> LabelResult {
    remove_bytes(key.as_ref())
}

/// All labels but weft's own two; how many went.
pub fn clear_labels() -> usize {
    // SAFETY: takes nothing.
    unsafe { sys::weft_labels_clear() }
}

/// A label's value, copied: bytes, of any kind.
#[derive(Clone, Copy)]
pub struct Value {
    bytes: [MaybeUninit<u8>; sys::VALUE_BYTES],
    size: usize,
}

impl Value {
    fn of(key: &[u8]) -> Option<Value> {
        let mut value = Value {
            bytes: [MaybeUninit::uninit(); sys::VALUE_BYTES],
            size: 0,
        };
        // SAFETY: writes at most as many bytes as there is room for.
        let size = unsafe {
            sys::weft_label_get_bytes(
                chars(key),
                key.len(),
                value.bytes.as_mut_ptr().cast(),
                sys::VALUE_BYTES,
            )
        };

        value.size = usize::try_from(size).ok()?.min(sys::VALUE_BYTES);
        Some(value)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the first @size are set.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.size) }
    }

    /// The text, if it is UTF-8.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self), f)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

/// The value of a label, reserved ones, too; nothing where there is no such label.
pub fn get_label(key: impl AsRef<[u8]>) -> Option<Value> {
    Value::of(key.as_ref())
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

unsafe extern "C" fn put(
    arg: *mut c_void,
    key: *const c_char,
    key_bytes: usize,
    value: *const c_char,
    value_bytes: usize,
) -> c_int {
    let pairs = &mut *arg.cast::<Pairs>();

    pairs.push((
        std::slice::from_raw_parts(key.cast::<u8>(), key_bytes).to_vec(),
        std::slice::from_raw_parts(value.cast::<u8>(), value_bytes).to_vec(),
    ));
    0
}

/// Keys and values of all labels of the thread, weft's own first. Allocates.
pub fn labels() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Pairs::new();

    // SAFETY: put() gets the vector back, and strings that are valid during its call.
    unsafe { sys::weft_labels_each(put, ptr::addr_of_mut!(pairs).cast()) };
    pairs
}

/// A label until the guard is dropped; then it has its value of before again, or is absent.
///
/// ```
/// weft::set_label("tenant", "acme").unwrap();
/// {
///     let guard = weft::Label::set("tenant", "other");
///     assert_eq!(guard.result(), Ok(weft::LabelSet::Updated));
///     assert_eq!(weft::get_label("tenant").unwrap(), *"other");
/// }
/// assert_eq!(weft::get_label("tenant").unwrap(), *"acme");
/// # weft::clear_labels();
/// ```
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// let label = weft::Label::set("tenant", "acme");
/// std::thread::spawn(move || drop(label));
/// ```
#[must_use = "the label ends where its guard is dropped"]
pub struct Label {
    /// One byte more than is kept tells where between characters it is cut.
    key: [u8; sys::KEY_BYTES + 1],
    key_bytes: usize,
    old: Option<Value>,
    result: LabelResult,
    not_send: PhantomData<*mut ()>,
}

impl Label {
    /// Sets a label. Where that is refused the guard does nothing: see [`Label::result`].
    pub fn set(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Label {
        let bytes = key.as_ref();
        let old = Value::of(bytes);
        let mut key = [0; sys::KEY_BYTES + 1];
        let key_bytes = bytes.len().min(key.len());

        key[..key_bytes].copy_from_slice(&bytes[..key_bytes]);
        let result = set_bytes(bytes, value.as_ref());
        Label {
            key,
            key_bytes,
            old,
            result,
            not_send: PhantomData,
        }
    }

    /// What setting it did.
    ///
    /// # Errors
    ///
    /// [`Refused`]: there is nothing to be put back.
    pub fn result(&self) -> LabelResult {
        self.result
    }

    /// Ends it, as dropping does.
    pub fn leave(self) {}
}

impl Drop for Label {
    fn drop(&mut self) {
        if self.result.is_err() {
            return;
        }
        let key = &self.key[..self.key_bytes];
        // Nobody is there to be told of a label that finds no room any more.
        let _ = match &self.old {
            Some(value) => set_bytes(key, value),
            None => remove_bytes(key),
        };
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Label")
            .field("key", &String::from_utf8_lossy(&self.key[..self.key_bytes]))
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
