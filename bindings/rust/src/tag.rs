// SPDX-License-Identifier: Apache-2.0
//! Tags: interned strings under names that the process registers once.

use crate::sys;
use std::ffi::CString;
use std::io;
use std::os::raw::c_uint;

/// Gives tag `n` (0 .. [`crate::TAGS`]) a name, such as "route". Once, at start.
///
/// # Errors
///
/// Number out of range, name empty, over 255 bytes or with a NUL; another name stands there; no
/// room.
pub fn tag_name(n: usize, name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    let n = c_uint::try_from(n).unwrap_or(c_uint::MAX);
    // SAFETY: a string that ends with NUL; not kept.
    match unsafe { sys::weft_tag_name(n, name.as_ptr()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// The id of a string, the same as long as the process lives: intern once, keep the id. Takes a
/// lock. 0: over 4096 bytes, with a NUL in it, or there is no room.
pub fn tag_intern(string: &str) -> u32 {
    match CString::new(string) {
        // SAFETY: as above.
        Ok(string) => unsafe { sys::weft_tag_intern(string.as_ptr()) },
        Err(_) => 0,
    }
}

/// Sets tag `n` of the thread to `id` (0 = unset). Returns the id that stood there; 0 also when
/// `n` is out of range.
pub fn tag_set(n: usize, id: u32) -> u32 {
    let n = c_uint::try_from(n).unwrap_or(c_uint::MAX);

    // SAFETY: takes any values.
    unsafe { sys::weft_tag_set_all(n, id) }
}
